// In what order the longest-first order takes a head's rows.
#pragma once

#include <cstdint>

#include "schedule/search.h"

namespace attngen::schedule {

struct RowOrder {
  // Whether a head's first rows have more blocks of keys than its last ones: queries at the
  // beginning that see all keys, a mask of what comes later.
  bool first_longest = false;
  // Whether the rows at the order's end have few blocks, as a causal mask's first ones.
  bool ends_short = false;
  // Keys from a tile's first to its last, at most; 0 if they may be half of all.
  int64_t span = 0;
};

// At the workload's first point.
RowOrder row_order(const Kernel& kernel);

}  // namespace attngen::schedule
