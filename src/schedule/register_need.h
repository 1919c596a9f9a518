// How many registers a consumer thread of a Hopper kernel needs, as far as that can be told without
// its compiler.
#pragma once

#include "schedule/schedule.h"
#include "schedule/search.h"

namespace attngen::schedule {

// `fixed_max`: with what it takes to keep an earlier maximum of a row.
int register_need(const Kernel& kernel, const Schedule& s, bool fixed_max);
// While the keys far behind are summed up, and their states are read.
int register_need_of_far_keys(const Kernel& kernel, const Schedule& s);

}  // namespace attngen::schedule
