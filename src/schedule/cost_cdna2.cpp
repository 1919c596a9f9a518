#include "schedule/cost_cdna2.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attention/given.h"
#include "schedule/cost.h"
#include "schedule/grid.h"
#include "schedule/step_cdna2.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr double kSlotClk = 4;
// Assumed where the hardware file has no measurement: clk from a load's issue to its data.
constexpr double kMemoryLatencyClk = 800;

// Products alone reach matrix_flop_sustained, as if the clock fell: power, most of it.
double clock_under_load(const target::Target& t, double matrix_share) {
  const double products_alone = t.matrix_flop_sustained / (t.cores * t.matrix_flop);
  return t.boost_clock_hz - matrix_share * (t.boost_clock_hz - products_alone);
}

// Of so many blocks of 2 x `warpgroups` waves.
double waves_per_simd(const Schedule& s, double blocks) {
  const double waves_of_block = 2.0 * s.warpgroups / kSimds;
  return blocks * waves_of_block;
}

// The clocks that a CU takes for one step of one block of 2 x `warpgroups` waves while `waves`
// waves share each SIMD (a half: every other one has a wave). What a wave by itself cannot hide,
// the others of its SIMD hide in part.
double step_clk(const StepCdna2& step, const Schedule& s, double waves) {
  const double exposed = step.alone - step.matrix;
  const double slots = std::max({step.matrix + exposed / waves, step.valu, step.alone / waves});
  return std::max(kSlotClk * slots * waves_per_simd(s, 1), step.shared_clk * 2 * s.warpgroups);
}

// Of the keys that a tile's mask leaves those in the blocks that a list has room for.
double kept_share(const Kernel& kernel, const RowKeys& keys) {
  const auto count = static_cast<double>(keys.end - keys.begin);
  return kernel.most_keys > 0 && count > kernel.most_keys ? kernel.most_keys / count : 1;
}

}  // namespace

CostModelCdna2::CostModelCdna2(const Kernel& kernel, const target::Target& target)
    : kernel_(kernel),
      target_(target),
      most_rows_(rows_of_each(kernel.workload, kMostRows)),
      rows_(kernel, most_rows_) {
  for (const spec::Workload& w : kernel.workload) {
    const auto [entry, is_new] = pairs_.try_emplace(masked_call(w));
    if (!is_new) continue;
    const TileRows single = tile_rows(attention::given(kernel.range, w.values), w.seq_q, w.seq_kv,
                                      1, most_rows_, kWarpgroupRows, kernel.mask_heads);
    entry->second = kernel.most_keys > 0 ? pairs_of(single, kernel.most_keys) : pairs_of(single);
  }
}

Cost CostModelCdna2::operator()(const Schedule& s, const Resources& resources) const {
  const StepCdna2 full = step_cdna2(kernel_, s, resources, BlockCdna2::Full);
  const StepCdna2 cut = step_cdna2(kernel_, s, resources, BlockCdna2::Cut);
  Cost cost;
  cost.family = target::Family::Cdna2;
  const double per_simd = kSlotClk * 2.0 * s.warpgroups / kSimds;
  cost.matrix_clk = per_simd * full.matrix;
  cost.special_clk = per_simd * full.special;
  cost.issue_clk = per_simd * full.valu;
  cost.shared_clk = full.shared_clk * 2 * s.warpgroups;
  if (!kernel_.workload.empty()) {
    cost.step_clk =
        step_clk(full, s, waves_per_simd(s, resident(s, resources, kernel_.workload.front())));
  }
  std::vector<PointCost> points;
  points.reserve(kernel_.workload.size());
  for (const spec::Workload& w : kernel_.workload) {
    points.push_back(point(s, resources, full, cut, w));
  }
  add_points(cost, points, kernel_.workload, target_);
  return cost;
}

double CostModelCdna2::tile_heads(const Schedule& s, const spec::Workload& w) const {
  const int packed = kernel_.heads_kv * head_parts(kernel_.group());
  return static_cast<double>(w.batch) * (s.pack_heads ? packed : kernel_.heads_q);
}

double CostModelCdna2::tiles_of_cu(const Schedule& s, const spec::Workload& w) const {
  return static_cast<double>(rows_.of(s, w).count) * tile_heads(s, w) / target_.cores;
}

// A CU works on several tiles at a time, on fewer in the last round; together they take as long as
// one after the other at the rate that they share.
double CostModelCdna2::resident(const Schedule& s, const Resources& resources,
                                const spec::Workload& w) const {
  const double blocks_of_cu = std::max(1.0, resources.waves_per_simd / waves_per_simd(s, 1));
  const double tiles = std::max(1.0, tiles_of_cu(s, w));
  return tiles / std::ceil(tiles / blocks_of_cu);
}

PointCost CostModelCdna2::point(const Schedule& s, const Resources& resources,
                                const StepCdna2& full, const StepCdna2& cut,
                                const spec::Workload& w) const {
  const target::Target& t = target_;
  const TileRows& rows = rows_.of(s, w);
  const double heads = static_cast<double>(w.batch) * kernel_.heads_q;
  const double with_tiles = tile_heads(s, w);
  const double together = resident(s, resources, w);
  const double waves = waves_per_simd(s, together);
  const double full_clk = step_clk(full, s, waves), cut_clk = step_clk(cut, s, waves);
  const double memory_clk = t.memory_latency_clk > 0 ? t.memory_latency_clk : kMemoryLatencyClk;

  PointCost p;
  // A tile starts with two trips to memory and a product alone, ends with one and its output; the
  // other blocks of the CU work meanwhile.
  p.tile_clk = (3 * memory_clk + kSlotClk * (full.alone + 300)) / together;
  double blocks = 0;
  std::vector<double> tiles;
  tiles.reserve(rows.keys.size());
  for (const RowKeys& keys : rows.keys) {
    const RowBlocks of_row = blocks_of(keys, s.tile_kv);
    const double kept = kept_share(kernel_, keys);
    blocks += kept * static_cast<double>(of_row.full + of_row.partial);
    tiles.push_back(p.tile_clk + kept * (static_cast<double>(of_row.full) * full_clk +
                                         static_cast<double>(of_row.partial) * cut_clk));
  }
  const double clk = makespan({&tiles, rows.stride, with_tiles, kernel_.row_order.first_longest},
                              t.cores, Grid::Plain, s.order);
  p.waves = tiles_of_cu(s, w);
  p.blocks = blocks * rows.stride * with_tiles / t.cores;
  const double matrix_clk = kSlotClk * full.matrix * 2 * s.warpgroups / kSimds;
  p.clock = clock_under_load(t, std::min(1.0, p.blocks * matrix_clk / clk));
  p.core_seconds = clk / p.clock;
  const double busy =
      std::accumulate(tiles.begin(), tiles.end(), 0.0) * (rows.stride * with_tiles) / t.cores;
  p.idle = clk > 0 ? std::max(0.0, 1 - busy / clk) : 0;
  p.flop = flop_of_pairs(kernel_, pairs_.at(masked_call(w)) * heads);
  add_traffic(p, s, w, together, blocks * rows.stride * with_tiles);
  p.launch_seconds = t.launch_s;
  p.seconds = std::max({p.core_seconds, p.l2_seconds, p.memory_seconds}) + p.launch_seconds;
  return p;
}

void CostModelCdna2::add_traffic(PointCost& p, const Schedule& s, const spec::Workload& w,
                                 double together, double blocks) const {
  const target::Target& t = target_;
  const double heads = static_cast<double>(w.batch) * kernel_.heads_q;
  const double query_bytes = static_cast<double>(w.seq_q) * heads * bytes_of_query(kernel_);
  const double read = blocks * bytes_of_keys(kernel_, s.tile_kv);
  const double head_bytes = bytes_of_keys(kernel_, w.seq_kv);
  // Tiles of one row with the same keys.
  const double sharing = s.pack_heads ? head_parts(kernel_.group()) : kernel_.group();
  // Few queries read no key but their window's.
  const double once =
      std::min(read / sharing, head_bytes * static_cast<double>(w.batch) * kernel_.heads_kv);
  const double heads_in_flight = std::min(
      tile_heads(s, w), std::ceil(t.cores * together / static_cast<double>(rows_.of(s, w).count)));
  const double missed = missed_share(std::ceil(heads_in_flight / sharing) * head_bytes, t);
  p.l2_seconds = (read + query_bytes) / t.l2_bytes_per_s;
  p.memory_seconds =
      (once + query_bytes + missed * std::max(0.0, read - once)) / t.memory_bytes_per_s;
}

}  // namespace attngen::schedule
