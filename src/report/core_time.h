// Where the time of a kernel goes, by the first point of its workload.
#pragma once

#include "schedule/search.h"

namespace attngen::report {

// Clocks of a core: the start and end of its tiles, and the steps between.
double ends_clk(const schedule::Cost& cost);
double steps_clk(const schedule::Cost& cost);

// For how much longer than its cores alone the kernel takes: the L2 or memory stalls them.
double stall_seconds(const schedule::Cost& cost);

}  // namespace attngen::report
