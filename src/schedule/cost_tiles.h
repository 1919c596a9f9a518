// What the two halves of the cost model pass to each other: cost_tiles.cpp says how long the tiles
// of a head take, cost.cpp how long a call does.
#pragma once

#include <vector>

#include "schedule/cost.h"
#include "schedule/step.h"

namespace attngen::schedule {

struct CostModel::Steps {
  Step first, full, partial, far;
  double alone = 0;  // clk of a full block that one part of a tile's rows keeps for itself
  // clk per tile, beyond its steps: whatever its length, where it is long, for its first blocks.
  double fixed = 0, start = 0, refill = 0;

  double beyond(double blocks, int stages) const;
};

// How a call shares out its tiles' work.
struct CostModel::Sharing {
  bool has_states = false;  // keys far behind come as states
  int turns = 1;            // parts of the values that a tile takes, one after the other
  int64_t splits = 1;       // of its keys, each a tile of its own
  bool are_even = true;     // known to be, or made so
};

// The tiles of one head, whole.
struct CostModel::Tiles {
  std::vector<double> clk;  // how long each of its splits takes
  double per_entry = 1;     // tiles that each of `clk` stands for
  double blocks = 0;        // of all of `clk`
  double visited = 0;       // of which so many are read
  double own = 0;           // and a warpgroup in the mean computes so many
  double state_slots = 0;   // and slots of keys that hold states
};

}  // namespace attngen::schedule
