#include "report/explain.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "candidates.h"
#include "spec/read.h"

using attngen::report::explain;
using attngen::report::tiny_ranking;
using attngen::report::tiny_spec;
using attngen::report::tiny_target;
using attngen::schedule::Ranking;
using attngen::schedule::Schedule;

TEST_CASE("the ranking, the reason, the rejections") {
  CHECK(explain(tiny_spec(), tiny_target(), tiny_ranking()) ==
        R"(toy on tiny: A tiny GPU, model 0123456789abcdef
workload: batch 2, seq_q 128, seq_kv 256, weight 1
workload: batch 1, seq_q 64, seq_kv 64, weight 0.5

3 schedules fit; the fastest of each shape:
rank tile    stages weights   overlap   grid       order     time us TFLOP/s bound by      registers
   1 128x128      2 registers both      persistent longest    1000.0   512.0 tensor cores        192
   3 256x64       2 shared    none      plain      linear     1250.0   409.6 latency             192

First: 128x128, 2 stages, 2 warpgroups, weights in registers, intra-warpgroup overlap, ping-pong,
persistent, longest first. It is bound by the tensor cores. A step of 128 keys takes 2000 clk; busy
in it (and in the kernel's whole time at the workload's first point) are the tensor cores 80 %
(76 %), the special units 50 % (47 %), the arithmetic pipes 25 % (24 %), shared memory 45 % (43 %),
L2 10 % (9 %), memory 1 % (1 %). Of a core's time 95 % are steps, 3 % the start and end of tiles
(15.50 a core, 3000 clk each), 2 % the wait for the last core. The runner-up, 256x64, is 25.0 %
slower; at the workload's first point the tensor cores are idle for 38.5 % of its steps, of the
first's for 20.0 % (no overlap inside a warpgroup, no ping-pong, weights go through shared memory).
The first needs 192 of 240 registers a consumer thread and 100000 bytes of shared memory.

Rejected, with the nearest miss of each reason:
2 schedules: needs 120 bytes of shared memory; tiny has 100 (256x64, 2 stages, 4 warpgroups, weights
    in shared memory, one block a tile)
1 schedule: needs 250 registers a thread; with 2 warpgroups a thread gets 240 (256x256, 2 stages, 4
    warpgroups, weights in shared memory, one block a tile)
)");
}

TEST_CASE("at most `limit` shapes are listed") {
  const std::string text = explain(tiny_spec(), tiny_target(), tiny_ranking(), 1);
  CHECK(text.find("and 1 more shapes") != std::string::npos);
  CHECK(text.find("\n   3 256x64") == std::string::npos);
}

TEST_CASE("the fastest of the other way with lists, where there are two") {
  Ranking ranking = tiny_ranking();
  CHECK(explain(tiny_spec(), tiny_target(), ranking).find("other way") == std::string::npos);
  ranking.other_way = ranking.ranked.back();
  std::string text = explain(tiny_spec(), tiny_target(), ranking);
  std::replace(text.begin(), text.end(), '\n', ' ');
  CHECK(text.find("Of the other way with lists the fastest takes 1250.0 us: 256x64, 2 stages, 4 "
                  "warpgroups, weights in shared memory, one block a tile.") != std::string::npos);
}

TEST_CASE("packed heads are marked") {
  Ranking ranking = tiny_ranking();
  CHECK(explain(tiny_spec(), tiny_target(), ranking).find("packed") == std::string::npos);
  ranking.ranked.back().schedule.pack_heads = true;
  const std::string text = explain(tiny_spec(), tiny_target(), ranking);
  CHECK(text.find("\n   3 256x64 *     2 shared") != std::string::npos);
  CHECK(text.find("\n     * with the query heads of a key head packed into the tile\n\nFirst: ") !=
        std::string::npos);
}

TEST_CASE("of states it is said what TFLOP/s count") {
  Ranking ranking = tiny_ranking();
  const auto says = [&] {
    return explain(tiny_spec(), tiny_target(), ranking)
               .find(
                   "     TFLOP/s count products of keys far "
                   "behind, which come as a state\n") != std::string::npos;
  };
  CHECK_FALSE(says());
  ranking.ranked.back().cost.states_seconds = 1e-6;
  CHECK(says());
}

TEST_CASE("a scan in the place of tiles is told with its time") {
  Ranking ranking = tiny_ranking();
  const auto says = [&] {
    return explain(tiny_spec(), tiny_target(), ranking)
               .find("     of tiles; the workload's first point goes by a scan: 12.5 us\n") !=
           std::string::npos;
  };
  CHECK_FALSE(says());
  ranking.ranked.front().cost.scan.seconds = 12.5e-6;
  CHECK(says());
}

TEST_CASE("a first one that may spill says so") {
  Ranking ranking = tiny_ranking();
  ranking.ranked.front().resources.register_need = 250;
  const std::string text = explain(tiny_spec(), tiny_target(), ranking);
  CHECK(text.find(
            "The first needs 250 of 240 registers a consumer thread and 100000 bytes of "
            "shared memory. The\nregisters are an estimate; no tile needs fewer, and the compiler "
            "may keep some in memory.\n") != std::string::npos);
}

TEST_CASE("one schedule alone") {
  Ranking ranking = tiny_ranking();
  ranking.ranked.resize(1);
  CHECK(explain(tiny_spec(), tiny_target(), ranking).find("\n1 schedule fits:\nrank tile") !=
        std::string::npos);
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

  ranking.of_given = true;
  CHECK(explain(spec, tiny_target(), ranking)
            .ends_with(
                "\nThe given schedule does not fit: 128x128, 2 stages, 2 warpgroups, weights in "
                "registers,\n    intra-warpgroup overlap, ping-pong, persistent: no template "
                "family for tiny yet\n"));

  ranking.of_given = false;
  ranking.rejected.push_back({Schedule{}, "ping-pong needs two warpgroups; there is 1"});
  CHECK(explain(spec, tiny_target(), ranking) ==
        R"(toy on tiny: A tiny GPU, model 0123456789abcdef
workload: batch 2, seq_q 128, seq_kv 256, weight 1

No schedule fits.

Rejected, with the nearest miss of each reason:
1 schedule: no template family for tiny yet (128x128, 2 stages, 2 warpgroups, weights in registers,
    intra-warpgroup overlap, ping-pong, persistent)
1 schedule: ping-pong needs two warpgroups; there is 1 (128x128, 2 stages, 2 warpgroups, weights in
    registers, intra-warpgroup overlap, ping-pong, persistent)
)");
}

TEST_CASE("lines fit 100 columns") {
  std::string inputs = "inputs: {a: {dtype: f32, shape: [heads]}", score = "score";
  for (const char* name : {"left", "right", "upper", "lower", "inner", "outer"}) {
    inputs += std::string(", ") + name + ": {dtype: f32, shape: [heads]}";
    score += std::string(" + a[h] * sin(0.12345678 * ") + name + "[h])";
  }
  attngen::text::Diagnostics diagnostics(
      {"s.yaml", "attngen: 1\nname: " + std::string(64, 'n') +
                     "\ndtype: bf16\nheads: {q: 4, kv: 4}\nhead_dim: {qk: 64, v: 64}\n" + inputs +
                     "}\nscore: " + score + "\n"});
  const auto spec = attngen::spec::read(diagnostics);
  REQUIRE(spec);
  const auto& h100 = *attngen::target::find("h100");
  const std::string text = explain(*spec, h100, tiny_ranking());
  CHECK(text.find("\ncomputed once for a row: ") != std::string::npos);
  Ranking none;
  none.rejected = {{Schedule{}, score}};
  for (const std::string& explained : {text, explain(*spec, h100, none)}) {
    std::istringstream lines(explained);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 100, line);
  }
}
