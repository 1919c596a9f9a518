// With which rows the longest-first order begins.
#pragma once

#include "schedule/search.h"

namespace attngen::schedule {

// Whether a head's first rows have more blocks of keys than its last ones, at the workload's first
// point: queries at the beginning that see all keys, a mask of what comes later.
bool first_rows_longest(const Kernel& kernel);

}  // namespace attngen::schedule
