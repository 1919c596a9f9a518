// A target, a spec and candidates made up here, so that reports do not move with the cost model.
#pragma once

#include "schedule/search.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::report {

inline target::Target tiny_target() {
  target::Target target;
  target.name = "tiny";
  target.title = "A tiny GPU";
  target.hash = "0123456789abcdef";
  target.cores = 100;
  target.boost_clock_hz = 2e9;
  target.matrix_flop = 5000;
  target.matrix_flop_sustained = 800e12;
  target.l2_bytes_per_s = 8e12;
  target.memory_bytes_per_s = 4e12;
  return target;
}

inline spec::Spec tiny_spec() {
  spec::Spec spec;
  spec.name = "toy";
  spec.mask = expr::boolean(true);
  spec.workload = {{2, 128, 256, 1}, {1, 64, 64, 0.5}};
  return spec;
}

inline schedule::Candidate candidate(const schedule::Schedule& schedule, double seconds,
                                     schedule::Bound bound) {
  schedule::Candidate c;
  c.schedule = schedule;
  c.resources.threads = 384;
  c.resources.producer_registers = 24;
  c.resources.consumer_registers = 240;
  c.resources.register_need = 192;
  c.resources.shared_bytes = 100'000;
  c.cost.seconds = seconds;
  c.cost.bound = bound;
  c.cost.step_clk = 2000;
  c.cost.matrix_clk = 1600;
  c.cost.special_clk = 1000;
  c.cost.issue_clk = 500;
  c.cost.shared_clk = 900;
  c.cost.l2_clk = 200;
  c.cost.memory_clk = 20;
  c.cost.fixed_clk = 3000;
  c.cost.flop_per_s = 1e-3 / seconds * 512e12;
  c.cost.flop_per_byte = 1000;
  c.cost.flop_per_l2_byte = 128;
  c.cost.waves = 15.5;
  c.cost.blocks = 736;
  c.cost.core_clk = 1.55e6;
  c.cost.idle = 0.02;
  c.cost.clock_hz = 1.55e9;
  c.cost.first_seconds = 1e-3;
  return c;
}

inline schedule::Schedule wide() {
  return {2,
          128,
          2,
          schedule::Place::Registers,
          schedule::Overlap::IntraWarpgroup,
          true,
          schedule::Grid::Persistent,
          schedule::Order::LongestFirst};
}

inline schedule::Schedule tall() {
  return {4,
          64,
          2,
          schedule::Place::Shared,
          schedule::Overlap::None,
          false,
          schedule::Grid::Plain,
          schedule::Order::Linear};
}

// Three candidates of two shapes, three rejections of two reasons.
inline schedule::Ranking tiny_ranking() {
  schedule::Schedule deep = wide();
  deep.stages = 3;
  schedule::Ranking ranking;
  ranking.ranked = {candidate(wide(), 1e-3, schedule::Bound::Matrix),
                    candidate(deep, 1.0005e-3, schedule::Bound::Matrix),
                    candidate(tall(), 1.25e-3, schedule::Bound::Latency)};
  schedule::Cost& slow = ranking.ranked[2].cost;
  slow.step_clk = 2600;
  slow.core_clk = 1.95e6;
  slow.first_seconds = slow.core_clk / slow.clock_hz;
  schedule::Schedule big = tall();
  big.tile_kv = 256;
  ranking.rejected = {{big, "needs 300 bytes of shared memory; tiny has 100"},
                      {tall(), "needs 120 bytes of shared memory; tiny has 100"},
                      {big, "needs 250 registers a thread; with 2 warpgroups a thread gets 240"}};
  return ranking;
}

}  // namespace attngen::report
