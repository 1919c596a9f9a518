#include "report/explain.h"

#include <doctest/doctest.h>

#include <sstream>

using attngen::report::explain;
using attngen::schedule::Bound;
using attngen::schedule::Candidate;
using attngen::schedule::Cost;
using attngen::schedule::Grid;
using attngen::schedule::Order;
using attngen::schedule::Overlap;
using attngen::schedule::Place;
using attngen::schedule::Ranking;
using attngen::schedule::Schedule;

namespace {

// A target and figures made up here, so that the text does not move with the cost model.
attngen::target::Target tiny_target() {
  attngen::target::Target target;
  target.name = "tiny";
  target.title = "A tiny GPU";
  target.hash = "0123456789abcdef";
  return target;
}

attngen::spec::Spec tiny_spec() {
  attngen::spec::Spec spec;
  spec.name = "toy";
  spec.workload = {{2, 128, 256, 1}, {1, 64, 64, 0.5}};
  return spec;
}

Candidate candidate(const Schedule& schedule, double seconds, Bound bound) {
  Candidate c;
  c.schedule = schedule;
  c.resources = {384, 24, 240, 192, false, 1, 100'000, {}};
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
  c.cost.waves = 15.5;
  c.cost.flop_per_s = 1e-3 / seconds * 512e12;
  return c;
}

Ranking tiny_ranking() {
  const Schedule wide{2,
                      128,
                      2,
                      Place::Registers,
                      Overlap::IntraWarpgroup,
                      true,
                      Grid::Persistent,
                      Order::LongestFirst};
  Schedule deep = wide;
  deep.stages = 3;
  const Schedule tall{4, 64, 2, Place::Shared, Overlap::None, false, Grid::Plain, Order::Linear};
  Ranking ranking;
  ranking.ranked = {candidate(wide, 1e-3, Bound::Matrix), candidate(deep, 1.0005e-3, Bound::Matrix),
                    candidate(tall, 1.25e-3, Bound::Latency)};
  Schedule big = tall;
  big.tile_kv = 256;
  ranking.rejected = {{big, "needs 300 bytes of shared memory; tiny has 100"},
                      {tall, "needs 120 bytes of shared memory; tiny has 100"},
                      {big, "needs 250 registers a thread; with 2 warpgroups a thread gets 240"}};
  return ranking;
}

}  // namespace

TEST_CASE("the ranking, the reason, the rejections") {
  CHECK(explain(tiny_spec(), tiny_target(), tiny_ranking()) ==
        R"(toy on tiny: A tiny GPU, model 0123456789abcdef
workload: batch 2, seq_q 128, seq_kv 256, weight 1
workload: batch 1, seq_q 64, seq_kv 64, weight 0.5

3 schedules fit; the fastest of each shape:
rank tile    stages weights   overlap turns grid       order     time us TFLOP/s bound by       regs
   1 128x128      2 registers intra   yes   persistent longest    1000.0   512.0 tensor cores    192
   3 256x64       2 shared    none    no    plain      linear     1250.0   409.6 latency         192

First: 128x128, 2 stages, 2 warpgroups, weights in registers, intra-warpgroup overlap, ping-pong,
persistent, longest first. A step of 128 keys takes 2000 clk; busy in it are the tensor cores 80 %,
the special units 50 %, the arithmetic pipes 25 %, shared memory 45 %, L2 10 %, memory 1 %. A tile
takes 3000 clk beyond its steps; there are 15.50 tiles a core. The next shape, 256x64, is predicted
25.0 % slower. It needs 192 of 240 registers a consumer thread and 100000 bytes of shared memory.

Rejected, with the nearest miss of each reason:
2x needs 120 bytes of shared memory; tiny has 100 (256x64, 2 stages, 4 warpgroups, weights in shared
    memory, one block a tile)
1x needs 250 registers a thread; with 2 warpgroups a thread gets 240 (256x256, 2 stages, 4
    warpgroups, weights in shared memory, one block a tile)
)");
}

TEST_CASE("at most `limit` shapes are listed") {
  const std::string text = explain(tiny_spec(), tiny_target(), tiny_ranking(), 1);
  CHECK(text.find("and 1 more shapes") != std::string::npos);
  CHECK(text.find("256x64 ") == std::string::npos);
}

TEST_CASE("no schedule at all") {
  Ranking ranking;
  ranking.rejected = {{Schedule{}, "no template family for tiny yet"}};
  attngen::spec::Spec spec = tiny_spec();
  spec.workload.resize(1);
  CHECK(explain(spec, tiny_target(), ranking) ==
        R"(toy on tiny: A tiny GPU, model 0123456789abcdef
workload: batch 2, seq_q 128, seq_kv 256, weight 1

No schedule fits: no template family for tiny yet
)");

  ranking.rejected.push_back({Schedule{}, "ping-pong needs two warpgroups; there is 1"});
  CHECK(explain(spec, tiny_target(), ranking) ==
        R"(toy on tiny: A tiny GPU, model 0123456789abcdef
workload: batch 2, seq_q 128, seq_kv 256, weight 1

No schedule fits.

Rejected, with the nearest miss of each reason:
1x no template family for tiny yet (128x128, 2 stages, 2 warpgroups, weights in registers,
    intra-warpgroup overlap, ping-pong, persistent)
1x ping-pong needs two warpgroups; there is 1 (128x128, 2 stages, 2 warpgroups, weights in
    registers, intra-warpgroup overlap, ping-pong, persistent)
)");
}

TEST_CASE("lines fit 100 columns") {
  std::istringstream lines(explain(tiny_spec(), tiny_target(), tiny_ranking()));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}
