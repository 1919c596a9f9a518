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

  std::string lack(size_t points = 1) const { return what_it_lacks(next, first, points); }
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
        "steps, of the first's for 20.0 % (no overlap inside a warpgroup, no turns on the tensor "
        "cores, a step's latencies serve 12 % fewer pairs).");
}

TEST_CASE("tiles that cover more than there is") {
  Two two;
  two.next.schedule.tile_kv = 144;
  two.next.cost.step_clk = 2250;
  two.next.cost.matrix_clk = 1800;
  two.next.cost.blocks *= 1.05 * 128 / 144;
  two.next.cost.core_clk *= 1.04;
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
  two.next.cost.idle = 1 - 0.96 / 1.04;
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: its cores wait 7.7 % of the time for the last "
        "one, the first's 4.0 %.");
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
  CHECK(two.lack() ==
        "The runner-up, 128x128, is 4.0 % slower: memory keeps it waiting for longer.");
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
}

TEST_CASE("a tie") {
  Two two;
  two.next.cost.seconds = 1.0004e-3;
  CHECK(two.lack() == "The runner-up, 128x128, is predicted to be as fast.");
}
