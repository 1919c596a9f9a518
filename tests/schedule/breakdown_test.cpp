// What a Cost says besides its time: traffic, and where a core's clocks go.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

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
  CHECK(cost.first_seconds == cost.seconds);
  CHECK(cost.launch_seconds == h200().launch_s);
  CHECK(cost.states_seconds == 0);
}

TEST_CASE("which visited pairs exist is said where they are counted") {
  Kernel kernel = softmax_kernel(128, 128, 16, 1, 1024, "kv_idx <= q_pos", true);
  const auto existing = [&] {
    return judge(kernel, Schedule{}, h200()).candidate.value().cost.existing;
  };
  // Of tiles of 128 x 128: 512.5 of 576 keys a query in the mean.
  CHECK(existing() == doctest::Approx(512.5 / 576));
  kernel.tested_mask = true;  // and (q_pos - kv_idx) % 4 == 0
  CHECK(existing() == 0);
}

TEST_CASE("in the longest-first order cores wait for each other at the L2 as well") {
  const Kernel kernel = softmax_kernel(128, 128, 16, 1, 8192, "true", true);
  const auto cost = [&](Order order) {
    Schedule schedule;
    schedule.order = order;
    return judge(kernel, schedule, h200()).candidate.value().cost;
  };
  const Cost linear = cost(Order::Linear), longest = cost(Order::LongestFirst);
  CHECK(linear.crowded == 0);
  CHECK(longest.core_clk * (1 - longest.crowded) == doctest::Approx(linear.core_clk));
  CHECK(longest.waves * longest.fixed_clk + longest.blocks * longest.step_clk ==
        doctest::Approx(longest.core_clk * (1 - longest.idle - longest.crowded)));
}

TEST_CASE("two blocks that share a core have half of its tiles each") {
  Kernel kernel = softmax_kernel(128, 128, 16, 1, 8192, "true", true);
  kernel.block_size = kernel.block_queries = 64;
  Schedule schedule;
  schedule.warpgroups = 1;
  schedule.tile_kv = 64;
  schedule.ping_pong = false;
  schedule.order = Order::LongestFirst;
  const Candidate candidate = judge(kernel, schedule, h200()).candidate.value();
  CHECK(candidate.resources.blocks_per_core == 2);
  CHECK(candidate.cost.waves == doctest::Approx(128 * 16.0 / 132 / 2));
  CHECK(candidate.cost.blocks == doctest::Approx(128 * candidate.cost.waves));
}

TEST_CASE("what bounds a kernel is busy for three quarters of its time, launches included") {
  for (const int64_t seq : {64, 512, 4096}) {
    const Kernel kernel = softmax_kernel(128, 128, 16, 1, seq, "true", true);
    for (const auto& target : {h200(), *target::find("mi250")}) {
      for (const auto& [schedule, resources, cost] : search(kernel, target).ranked) {
        const double pipes[] = {cost.matrix_clk, cost.special_clk, cost.issue_clk,
                                cost.shared_clk, cost.l2_clk,      cost.memory_clk};
        const double busiest = *std::max_element(std::begin(pipes), std::end(pipes));
        CHECK((cost.bound == Bound::Latency) == (busiest <= 0.75 * kernel_clk(cost)));
        CHECK(kernel_clk(cost) * std::max(1.0, cost.blocks) >= doctest::Approx(cost.core_clk));
        CHECK(cost.memory_clk < kernel_clk(cost));
      }
    }
  }
}

}  // namespace
}  // namespace attngen::schedule
