// What a Cost says besides its time: traffic, and where a core's clocks go.
#include <doctest/doctest.h>

#include "kernels.h"
#include "schedule/search.h"

namespace attngen::schedule {
namespace {

// 16 heads of 1024 tokens: 128 tiles of 128 queries, whose keys and values stay in the L2.
Cost cost_of(const target::Target& target) {
  const Kernel kernel = softmax_kernel(128, 128, 16, 1, 1024, "true", true);
  return judge(kernel, Schedule{}, target).candidate.value().cost;
}

TEST_CASE("memory gives and takes every tensor once, the L2 gives K and V to every tile") {
  const Cost cost = cost_of(h200());
  // Of one head: 4 S S D flop; Q, K, V, O are 2 S D bytes each.
  CHECK(cost.flop_per_byte == doctest::Approx(1024.0 / 2));
  // K and V for each of S / 128 tiles: 4 S S D / 128 bytes.
  CHECK(cost.flop_per_l2_byte == doctest::Approx(1 / (1.0 / 128 + 1.0 / 1024)));
}

TEST_CASE("a core's clocks are steps, starts and ends of tiles, and the wait for the last core") {
  const Cost cost = cost_of(h200());
  CHECK(cost.waves == doctest::Approx(128.0 / 132));
  CHECK(cost.blocks == doctest::Approx(8 * 128.0 / 132));
  // One wave: the cores without a tile wait.
  CHECK(cost.idle == doctest::Approx(4.0 / 132));
  CHECK(cost.waves * cost.fixed_clk + cost.blocks * cost.step_clk ==
        doctest::Approx(cost.core_clk * (1 - cost.idle)));
  CHECK(cost.seconds == doctest::Approx(cost.core_clk / cost.clock_hz + h200().launch_s));
}

}  // namespace
}  // namespace attngen::schedule
