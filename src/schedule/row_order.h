// In what order the longest-first order takes a head's rows.
#pragma once

#include "schedule/search.h"

namespace attngen::schedule {

// At the workload's first point.
RowOrder row_order(const Kernel& kernel);

}  // namespace attngen::schedule
