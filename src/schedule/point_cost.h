// The predicted time of one point of a workload, and the Cost that a workload's points make: what
// the models of both families say of a kernel.
#pragma once

#include <vector>

#include "schedule/search.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::schedule {

struct PointCost {
  double seconds = 0;
  // Of it, of launches, and of the kernels that ask pairs, make states and join splits.
  double launch_seconds = 0, asking_seconds = 0, states_seconds = 0, join_seconds = 0;
  ScanTime scan;  // in the place of all that
  double core_seconds = 0, l2_seconds = 0, memory_seconds = 0;
  double clock = 0;
  double flop = 0;  // of existing pairs
  // The share of a core, or of each block that shares one.
  double waves = 0;     // tiles, or splits of them
  double splits = 1;    // of each tile
  double blocks = 0;    // of keys
  double tile_clk = 0;  // of a tile, beyond its steps
  double idle = 0;      // share of core_seconds, spent waiting for the last core
  double crowded = 0;   // and for other cores at the L2
  double existing = 0;  // share of visited pairs; 0: not counted
};

// Sums up the points of a workload and says where the first one's time goes. `cost` has the clocks
// of a step already; what bounds it is found by them.
void add_points(Cost& cost, const std::vector<PointCost>& points,
                const std::vector<spec::Workload>& workload, const target::Target& target);

// The share of keys and values, read once more by later tiles, that the L2 has lost meanwhile: of
// so many bytes in flight, more than 0, it keeps what has room.
double missed_share(double bytes_in_flight, const target::Target& target);

}  // namespace attngen::schedule
