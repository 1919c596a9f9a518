#include "schedule/point_cost.h"

#include <algorithm>
#include <utility>

namespace attngen::schedule {
namespace {

// The L2 keeps this share of itself for the keys and values in flight; with sections of 16 MB of
// 60 a kernel ran 14 % faster than with all of it (H200, 2026-11-20).
constexpr double kL2Share = 0.5;

// A pipe that is busy for less than three quarters of the kernel's time does not bound it: the
// chain of products and arithmetic does, or what is no step.
Bound bound_of(const Cost& cost) {
  const std::pair<double, Bound> pipes[] = {
      {cost.matrix_clk, Bound::Matrix}, {cost.special_clk, Bound::Special},
      {cost.issue_clk, Bound::Issue},   {cost.shared_clk, Bound::Shared},
      {cost.l2_clk, Bound::L2},         {cost.memory_clk, Bound::Memory}};
  double busiest = 0.75 * kernel_clk(cost);
  Bound bound = Bound::Latency;
  for (const auto& [busy, pipe] : pipes) {
    if (busy > busiest) {
      busiest = busy;
      bound = pipe;
    }
  }
  return bound;
}

}  // namespace

double kernel_clk(const Cost& cost) {
  return std::max(cost.step_clk, cost.first_seconds * cost.clock_hz / std::max(1.0, cost.blocks));
}

void add_points(Cost& cost, const std::vector<PointCost>& points,
                const std::vector<spec::Workload>& workload, const target::Target& t) {
  double weights = 0, seconds = 0, flop = 0, l2_seconds = 0, memory_seconds = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const double weight = workload[i].weight;
    weights += weight;
    seconds += weight * points[i].seconds;
    flop += weight * points[i].flop;
    l2_seconds += weight * points[i].l2_seconds;
    memory_seconds += weight * points[i].memory_seconds;
  }
  cost.seconds = weights > 0 ? seconds / weights : 0;
  cost.flop_per_s = seconds > 0 ? flop / seconds : 0;
  cost.flop_per_byte = memory_seconds > 0 ? flop / (memory_seconds * t.memory_bytes_per_s) : 0;
  cost.flop_per_l2_byte = l2_seconds > 0 ? flop / (l2_seconds * t.l2_bytes_per_s) : 0;

  const PointCost shown = points.empty() ? PointCost{} : points.front();
  cost.waves = shown.waves;
  cost.splits = shown.splits;
  cost.blocks = shown.blocks;
  cost.core_clk = shown.core_seconds * shown.clock;
  cost.idle = shown.idle;
  cost.crowded = shown.crowded;
  cost.existing = shown.existing;
  cost.first_seconds = shown.seconds;
  cost.launch_seconds = shown.launch_seconds;
  cost.asking_seconds = shown.asking_seconds;
  cost.states_seconds = shown.states_seconds;
  cost.scan = shown.scan;
  cost.join_seconds = shown.join_seconds;
  cost.clock_hz = shown.clock;
  cost.fixed_clk = shown.tile_clk;
  const double blocks = std::max(1.0, shown.blocks);
  cost.l2_clk = shown.l2_seconds * shown.clock / blocks;
  cost.memory_clk = shown.memory_seconds * shown.clock / blocks;
  cost.bound = bound_of(cost);
}

double missed_share(double bytes_in_flight, const target::Target& t) {
  return std::max(0.0, 1 - kL2Share * t.l2_bytes / bytes_in_flight);
}

}  // namespace attngen::schedule
