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
};

// Clocks until the last core is done. Persistent in linear order: core c takes the tiles c,
// c + cores, ... Otherwise a core takes the next tile when it is free, longest first or in order of
// rows, head by head.
double makespan(const Load& load, int cores, Grid grid, Order order);

}  // namespace attngen::schedule
