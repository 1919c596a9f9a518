#include "schedule/space.h"

#include <algorithm>

#include "schedule/splits.h"

namespace attngen::schedule {

// Not searched, though --schedule takes them, because measured on an H200 (2026-11-21; 35 points,
// the best of each kind over the best of all): weights in shared memory where registers have room
// (1.02 to 1.39), no overlap where there is room for it (1.01 to 1.27), one block a tile (1.00 to
// 1.30), tiles in linear order whose ranges of keys are unequal (1.03 to 1.59).
const std::vector<Way>& ways() {
  static const std::vector<Way> all{{Place::Registers, Overlap::IntraWarpgroup},
                                    {Place::Shared, Overlap::IntraWarpgroup},
                                    {Place::Registers, Overlap::None},
                                    {Place::Shared, Overlap::None}};
  return all;
}

bool dominates(const Way& a, const Way& b) {
  return (a.weights == Place::Registers || a.weights == b.weights) &&
         (a.overlap == Overlap::IntraWarpgroup || a.overlap == b.overlap);
}

std::vector<Schedule> tiles(const Way& way, std::span<const int> tiles_kv,
                            std::span<const Order> orders) {
  std::vector<Schedule> all;
  for (int warpgroups = 1; warpgroups <= 4; ++warpgroups) {
    for (const int tile_kv : tiles_kv) {
      for (const Order order : orders) {
        all.push_back({.warpgroups = warpgroups,
                       .tile_kv = tile_kv,
                       .stages = kLeastStages,
                       .weights = way.weights,
                       .overlap = way.overlap,
                       .ping_pong = false,
                       .grid = Grid::Persistent,
                       .order = order});
      }
    }
  }
  return all;
}

bool worth_packing(const Schedule& tile, const Kernel& kernel) {
  if (kernel.list_room > 0) return true;
  if (kernel.heads_q == kernel.heads_kv) return false;
  if (kernel.group_blocks && tile.tile_q() > kernel.block_queries) return true;
  return std::ranges::any_of(kernel.workload, [&](const spec::Workload& w) {
    return w.seq_q < int64_t{2} * tile.tile_q();
  });
}

bool worth_splitting(Schedule schedule, const Resources& resources, const Kernel& kernel) {
  schedule.split_keys = true;
  return std::ranges::any_of(kernel.workload, [&](const spec::Workload& w) {
    return most_parts(schedule, resources, split_heads(kernel), w) > 0;
  });
}

std::vector<Schedule> variants(const Schedule& tile) {
  std::vector<Schedule> all;
  for (const bool ping_pong : {true, false}) {
    if (ping_pong && tile.warpgroups < 2) continue;
    all.push_back(tile);
    all.back().ping_pong = ping_pong;
  }
  return all;
}

}  // namespace attngen::schedule
