#include "report/lack.h"

#include <doctest/doctest.h>

#include "candidates.h"

using namespace attngen::report;
using attngen::schedule::Bound;
using attngen::schedule::Candidate;
using attngen::schedule::Overlap;
using attngen::schedule::Place;

namespace {

// A runner-up that takes 4 % longer; each case says where.
struct Two {
  Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  Candidate next = candidate(wide(), 1.04e-3, Bound::Matrix);

  // Its cores take all of its time, but for what a case says.
  std::string lack(size_t points = 1, double other_seconds = 0) {
    next.cost.first_seconds = next.cost.core_clk / next.cost.clock_hz + other_seconds;
    return what_it_lacks(next, first, points);
  }
};

}  // namespace

TEST_CASE("a pipe with more to do") {
  Two two;
  two.next.schedule.tile_kv = 64;
  two.next.cost.blocks *= 2;
  two.next.cost.step_clk = 1040;
  two.next.cost.matrix_clk = 840;
  two.next.cost.special_clk = 500;
  two.next.cost.shared_clk = 450;
  two.next.cost.core_clk *= 1.04;
  CHECK(
      two.lack() ==
      "The runner-up, 128x64, is 4.0 % slower: for the same pairs the tensor cores are busy 5.0 % "
      "longer.");
}

TEST_CASE("a pipe that waits more, and the decisions behind it") {
  Two two;
  two.next.schedule.tile_kv = 112;
  two.next.schedule.ping_pong = false;
  two.next.schedule.overlap = Overlap::None;
  two.next.cost.blocks *= 128.0 / 112;
  two.next.cost.matrix_clk = 1400;
  two.next.cost.step_clk = 1820;
  two.next.cost.core_clk *= 1.04;
  CHECK(two.lack() ==
        "The runner-up, 128x112, is 4.0 % slower: the tensor cores are idle for 23.1 % of its "
        "steps, of the first's for 20.0 % (no overlap inside a warpgroup, no ping-pong, a step's "
        "latencies serve 12 % fewer pairs).");
}

TEST_CASE("tiles that cover more than there is") {
  Two two;
  two.next.schedule.tile_kv = 144;
  two.next.cost.step_clk = 2250;
  two.next.cost.matrix_clk = 1800;
  two.next.cost.blocks *= 1.05 * 128 / 144;
  two.next.cost.core_clk += 0.05 * 736 * 2000 / 0.98;
  CHECK(two.lack() ==
        "The runner-up, 128x144, is 4.0 % slower: its tiles cover 5.0 % more pairs, outside the "
        "mask or the sequence.");
}

TEST_CASE("tiles that cost more to start and end") {
  Two two;
  two.next.cost.fixed_clk = 7000;
  two.next.cost.core_clk += 4000 * 15.5;
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: the start and end of its tiles take 6.7 % of its "
        "time, of the first's 3.0 %.");
}

TEST_CASE("a last tile that is waited for") {
  Two two;
  two.next.cost.core_clk *= 1.04;
  two.next.cost.idle = 1 - 0.98 / 1.04;
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: its cores wait 5.8 % of the time for the last "
        "one, the first's 2.0 %.");
}

TEST_CASE("a lower clock") {
  Two two;
  two.next.cost.clock_hz = 1.49e9;
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: the power limit holds it to 1.490 GHz, the first "
        "to 1.550 GHz.");
}

TEST_CASE("memory that is slower than the core") {
  Two two;
  two.next.cost.memory_clk = 2400;
  CHECK(two.lack(1, 0.04e-3) ==
        "The runner-up, 128x128, is 4.0 % slower: waits for memory take 3.8 % of its time, of the "
        "first's 0.0 %.");
}

TEST_CASE("cores that wait for each other at the L2") {
  Two two;
  two.next.cost.core_clk *= 1.04;
  two.next.cost.idle /= 1.04;
  two.next.cost.crowded = 1 - 1 / 1.04;
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: its cores wait 3.8 % of the time for each other "
        "at the L2, the first's 0.0 %.");
}

TEST_CASE("other kernels before it") {
  Two two;
  two.next.cost.launch_seconds = 0.04e-3;
  CHECK(two.lack(1, 0.04e-3) ==
        "The runner-up, 128x128, is 4.0 % slower: launches take 3.8 % of its time, of the first's "
        "0.0 %.");
  two.next.cost.states_seconds = 0.05e-3;
  two.next.cost.seconds = 1.09e-3;
  CHECK(two.lack(1, 0.09e-3) ==
        "The runner-up, 128x128, is 9.0 % slower: the making of states takes 4.6 % of its time, of "
        "the first's 0.0 %.");
}

TEST_CASE("blocks that a mask cuts take longer") {
  Two two;
  two.next.cost.core_clk *= 1.04;
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: in the mean its steps take 1.04 times as long as "
        "one that no mask cuts, the first's 1.00 times.");
}

TEST_CASE("two blocks on a core have twice the pairs in a step") {
  Two two;
  two.next.schedule.warpgroups = 1;
  two.next.schedule.ping_pong = false;
  two.next.resources.blocks_per_core = 2;
  two.next.cost.step_clk = 2080;
  two.next.cost.core_clk *= 1.04;
  CHECK(
      two.lack() ==
      "The runner-up, 64x128, is 4.0 % slower: the tensor cores are idle for 23.1 % of its steps, "
      "of the first's for 20.0 % (no ping-pong).");
}

TEST_CASE("another way through the same tile is named") {
  Two two;
  two.next.schedule.weights = Place::Shared;
  two.next.schedule.overlap = Overlap::None;
  CHECK(two.lack() ==
        "The runner-up, 128x128 with weights in shared memory and without overlap inside a "
        "warpgroup, is 4.0 % slower.");
}

TEST_CASE("a workload of several points") {
  Two two;
  two.next.cost.clock_hz = 1.49e9;
  CHECK(two.lack(2) ==
        "The runner-up, 128x128, is 4.0 % slower; at the workload's first point the power limit "
        "holds it to 1.490 GHz, the first to 1.550 GHz.");
  CHECK(Two().lack(2) ==
        "The runner-up, 128x128, is 4.0 % slower, at other points of the workload than the first.");
}

TEST_CASE("what the model does not explain is not explained") {
  CHECK(Two().lack() == "The runner-up, 128x128, is 4.0 % slower.");
  // Nor what would be told by 0.0 %.
  Two two;
  two.next.cost.seconds = 1.0007e-3;
  two.next.cost.core_clk *= 1.0007;
  CHECK(two.lack() == "The runner-up, 128x128, is 0.1 % slower.");
}

TEST_CASE("a tie") {
  Two two;
  two.next.cost.seconds = 1.0004e-3;
  CHECK(two.lack() == "The runner-up, 128x128, is predicted to be as fast.");
}

TEST_CASE("without a pair no step takes time") {
  Two two;
  two.first.cost.blocks = two.next.cost.blocks = 0;
  two.next.cost.fixed_clk *= 1.04;
  two.next.cost.core_clk *= 1.04;
  const std::string text = two.lack();
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}
