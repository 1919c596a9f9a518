// How long the cores are busy with all tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace attngen::schedule {

// The tiles of one head in the order of their rows, in clocks; `heads` heads have the same.
struct Load {
  const std::vector<double>* tiles = nullptr;
  double tiles_per_entry = 1;  // how many tiles an entry stands for
  double heads = 1;
  bool first_rows_longest = false;  // else the last ones are taken to be
};

// Clocks until the last core is done; 0 without tiles. Persistent in linear order: core c takes the
// tiles c, c + cores, ... Otherwise a core takes the next tile when it is free: head by head, in
// order of rows; or, the longest first, from the rows at one end to those at the other, each of all
// heads.
double makespan(const Load& load, int cores, Grid grid, Order order);

}  // namespace attngen::schedule
