// The predicted time of a kernel: "the cost model" of docs/design.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedule/kernel_rows.h"
#include "schedule/point_cost.h"
#include "schedule/rows.h"
#include "schedule/schedule.h"
#include "schedule/search.h"
#include "schedule/tested_blocks.h"
#include "schedule/workload_rows.h"
#include "target/target.h"

namespace attngen::schedule {

// Tile rows that are evaluated of one kernel, over all points of its workload.
inline constexpr int64_t kMostRows = 512;

double bytes_of_keys(const Kernel& kernel, int64_t keys);
// Of a query of a head: itself, its output and what that reads for its elements.
double bytes_of_query(const Kernel& kernel);
// Of pairs in tiles: the parts of the values share a pair's score, though each computes it.
double flop_of_pairs(const Kernel& kernel, double pairs);

// Predicts schedules of one kernel on one target.
class CostModel {
 public:
  CostModel(const Kernel& kernel, const target::Target& target);
  Cost operator()(const Schedule& schedule, const Resources& resources) const;
  // In which tiles are worth a look: linear where they are even, the longest first where they are
  // not, both where blocks are asked about one by one.
  std::span<const Order> orders(bool pack_heads) const;

 private:
  struct Steps;
  struct Tiles;
  struct Sharing;
  bool uneven_tiles(bool pack_heads) const;
  struct Traffic {
    double l2_seconds, memory_seconds;
  };

  double output_clk(const Schedule& schedule) const;
  double tables_clk(const Schedule& schedule) const;
  double fixed_clk(const Schedule& schedule, const Resources& resources, const Steps& steps) const;
  const std::vector<TestedBlocks>& tested(const Schedule& schedule, const spec::Workload& w) const;
  double pairs_of_head(const spec::Workload& w) const;
  // How far apart the tiles' keys are.
  double apart_share(const TileRows& rows) const;
  BlockTester& tester_of(const spec::Workload& w) const;
  Steps steps_of(const Schedule& schedule, const Resources& resources) const;
  Steps with_copies(Steps steps, const Schedule& schedule) const;
  Tiles tiles_of(const Schedule& schedule, const Steps& steps, const spec::Workload& w,
                 const Sharing& sharing) const;
  Traffic traffic(const Schedule& schedule, const spec::Workload& w, double heads,
                  double tile_heads, double blocks) const;
  PointCost point(const Schedule& schedule, const Resources& resources, const Steps& steps,
                  const spec::Workload& w) const;

  const Kernel& kernel_;
  const target::Target& target_;
  int64_t most_rows_;  // that are evaluated, of each point
  KernelRows rows_;
  mutable std::map<MaskedCall, double> pairs_;  // that exist in one head
  mutable std::map<spec::Values, BlockTester> testers_;
  // Of tiles whose blocks are asked about: by warpgroups, queries and keys of a tile. Schedules
  // that differ in nothing else share them.
  using TileShape = std::array<int, 3>;
  mutable std::map<std::pair<MaskedCall, TileShape>, std::vector<TestedBlocks>> tested_;
};

}  // namespace attngen::schedule
