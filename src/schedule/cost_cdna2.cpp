#include "schedule/cost_cdna2.h"

#include <algorithm>
#include <cmath>

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

// The clocks that a CU takes for one step of one block of 2 x `warpgroups` waves while `waves`
// waves share each SIMD (a half: every other one has a wave). What a wave by itself cannot hide,
// the others of its SIMD hide in part.
double step_clk(const StepCdna2& step, const Schedule& s, double waves) {
  const double exposed = step.alone - step.matrix;
  const double slots = std::max({step.matrix + exposed / waves, step.valu, step.alone / waves});
  const double waves_of_block = 2.0 * s.warpgroups / kSimds;
  return std::max(kSlotClk * slots * waves_of_block, step.shared_clk * 2 * s.warpgroups);
}

}  // namespace

CostModelCdna2::CostModelCdna2(const Kernel& kernel, const target::Target& target)
    : kernel_(kernel), target_(target) {
  const int64_t most_rows = std::max<int64_t>(
      16, kMostRows / std::max<int64_t>(1, static_cast<int64_t>(kernel.workload.size())));
  for (const spec::Workload& w : kernel.workload) {
    std::array<TileRows, 4>& rows = rows_.emplace_back();
    for (int i = 0; i < 4; ++i) {
      rows[static_cast<size_t>(i)] =
          tile_rows(kernel.range, w.seq_q, w.seq_kv, 64 * (i + 1), most_rows);
    }
    const TileRows single = tile_rows(kernel.range, w.seq_q, w.seq_kv, 1, most_rows);
    double pairs = 0;
    for (const RowKeys& keys : single.keys) {
      pairs += static_cast<double>(std::max<int64_t>(0, keys.end - keys.begin));
    }
    pairs_.push_back(pairs * single.stride);
    for (const RowKeys& keys : rows[0].keys) {
      const RowKeys& first = rows[0].keys.front();
      if (keys.end - keys.begin != first.end - first.begin) uneven_ = true;
    }
  }
}

Cost CostModelCdna2::operator()(const Schedule& s, const Resources& resources) const {
  const target::Target& t = target_;
  const StepCdna2 full = step_cdna2(kernel_, s, resources, BlockCdna2::Full);
  const StepCdna2 cut = step_cdna2(kernel_, s, resources, BlockCdna2::Cut);
  const double waves_of_block = 2.0 * s.warpgroups / kSimds;
  const double blocks_of_cu = std::max(1.0, resources.waves_per_simd / waves_of_block);
  const double memory_clk = t.memory_latency_clk > 0 ? t.memory_latency_clk : kMemoryLatencyClk;

  Cost cost;
  cost.family = target::Family::Cdna2;
  double weights = 0, seconds = 0, flop = 0;
  for (size_t i = 0; i < kernel_.workload.size(); ++i) {
    const spec::Workload& w = kernel_.workload[i];
    const TileRows& rows = rows_[i][static_cast<size_t>(s.warpgroups - 1)];
    const double heads = static_cast<double>(w.batch) * kernel_.heads_q;
    std::vector<double> tiles;
    tiles.reserve(rows.keys.size());
    // A CU works on several tiles at a time, on fewer in the last round; together they take as long
    // as one after the other at the rate that they share.
    const double tiles_of_cu = std::max(1.0, static_cast<double>(rows.count) * heads / t.cores);
    const double resident = tiles_of_cu / std::ceil(tiles_of_cu / blocks_of_cu);
    const double waves = resident * waves_of_block;
    const double full_clk = step_clk(full, s, waves), cut_clk = step_clk(cut, s, waves);
    // A tile starts with two trips to memory and a product alone, ends with one and its output; the
    // other blocks of the CU work meanwhile.
    const double fixed = (3 * memory_clk + kSlotClk * (full.alone + 300)) / resident;
    double blocks = 0;
    for (const RowKeys& keys : rows.keys) {
      const RowBlocks of_row = blocks_of(keys, s.tile_kv);
      blocks += static_cast<double>(of_row.full + of_row.partial);
      tiles.push_back(fixed + static_cast<double>(of_row.full) * full_clk +
                      static_cast<double>(of_row.partial) * cut_clk);
    }
    const double clk = makespan({&tiles, rows.stride, heads}, t.cores, Grid::Plain, s.order);
    const double per_core = blocks * rows.stride * heads / t.cores;
    const double matrix_clk = kSlotClk * full.matrix * 2 * s.warpgroups / kSimds;
    const double clock = clock_under_load(t, std::min(1.0, per_core * matrix_clk / clk));
    const double core_seconds = clk / clock;

    const double step_bytes = bytes_of_keys(kernel_, s.tile_kv);
    const double query_bytes = kElement * static_cast<double>(w.seq_q) * heads *
                               (kernel_.head_dim_qk + kernel_.head_dim_v);
    const double read = blocks * rows.stride * heads * step_bytes;
    const double once =
        bytes_of_keys(kernel_, w.seq_kv) * static_cast<double>(w.batch) * kernel_.heads_kv;
    const double group = static_cast<double>(kernel_.heads_q) / kernel_.heads_kv;
    const double heads_in_flight =
        std::min(heads, std::ceil(t.cores * resident / static_cast<double>(rows.count)));
    const double in_flight = std::ceil(heads_in_flight / group) * bytes_of_keys(kernel_, w.seq_kv);
    const double missed = std::max(0.0, 1 - kL2Share * t.l2_bytes / in_flight);
    const double l2_seconds = (read + query_bytes) / t.l2_bytes_per_s;
    const double memory_seconds =
        (once + query_bytes + missed * std::max(0.0, read - once)) / t.memory_bytes_per_s;
    const double point = std::max({core_seconds, l2_seconds, memory_seconds}) + t.launch_s;

    weights += w.weight;
    seconds += w.weight * point;
    flop += w.weight * flop_of_pairs(kernel_, pairs_[i] * heads);
    if (i == 0) {
      cost.waves = static_cast<double>(rows.count) * heads / t.cores;
      cost.step_clk = full_clk;
      cost.fixed_clk = fixed;
      cost.l2_clk = l2_seconds * clock / std::max(1.0, per_core);
      cost.memory_clk = memory_seconds * clock / std::max(1.0, per_core);
    }
  }
  cost.seconds = weights > 0 ? seconds / weights : 0;
  cost.flop_per_s = seconds > 0 ? flop / seconds : 0;
  const double per_simd = kSlotClk * 2.0 * s.warpgroups / kSimds;
  cost.matrix_clk = per_simd * full.matrix;
  cost.special_clk = per_simd * full.special;
  cost.issue_clk = per_simd * full.valu;
  cost.shared_clk = full.shared_clk * 2 * s.warpgroups;
  const std::pair<double, Bound> pipes[] = {
      {cost.matrix_clk, Bound::Matrix},   {cost.issue_clk, Bound::Issue},
      {cost.special_clk, Bound::Special}, {cost.shared_clk, Bound::Shared},
      {cost.l2_clk, Bound::L2},           {cost.memory_clk, Bound::Memory}};
  double busiest = 0.75 * cost.step_clk;
  cost.bound = Bound::Latency;
  for (const auto& [clk, bound] : pipes) {
    if (clk > busiest) {
      busiest = clk;
      cost.bound = bound;
    }
  }
  return cost;
}

}  // namespace attngen::schedule
