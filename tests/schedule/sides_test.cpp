// Values that are columns of the keys: two warpgroups of a tile have a side each of wide ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "kernels.h"
#include "schedule/cost.h"
#include "schedule/resources.h"
#include "schedule/search.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of_shared(int qk, int v) {
  return kernel_of_lines(head_dims(qk, v) + "share_kv: {v_prefix: " + std::to_string(v) +
                         "}\nheads: {q: 128, kv: 1}\nworkload: {seq_q: 4096}\n");
}

Schedule turns(int warpgroups, int tile_kv) {
  Schedule schedule;
  schedule.warpgroups = warpgroups;
  schedule.tile_kv = tile_kv;
  schedule.weights = Place::Shared;
  schedule.overlap = Overlap::None;
  schedule.ping_pong = false;
  return schedule;
}

TEST_CASE("which widths two sides share out") {
  CHECK(has_even_sides(512));
  CHECK(has_even_sides(384));
  CHECK_FALSE(has_even_sides(320));
  CHECK_FALSE(has_even_sides(640));
}

TEST_CASE("two sides share their rows, and a slot has keys alone") {
  const Judged wide = judge(kernel_of_shared(576, 512), turns(2, 64), h100());
  REQUIRE(wide.candidate);
  CHECK(wide.candidate->schedule.tile_q() == 64);
  // The weights stand in 64 columns of the keys that are no values.
  CHECK(wide.candidate->resources.weights_in_keys);
  const int keys_and_queries = 2 * 64 * 576 * 2 + 64 * 576 * 2;
  CHECK(wide.candidate->resources.shared_bytes > keys_and_queries);
  CHECK(wide.candidate->resources.shared_bytes < keys_and_queries + 8192);
  // Of as many values as keys none does; of 48 keys it has no room for rows of 64.
  CHECK_FALSE(
      judge(kernel_of_shared(512, 512), turns(2, 64), h100()).candidate->resources.weights_in_keys);
  CHECK_FALSE(
      judge(kernel_of_shared(576, 512), turns(2, 48), h100()).candidate->resources.weights_in_keys);
}

TEST_CASE("what no tile of two sides can be") {
  const auto reason = [](const Schedule& schedule) {
    return judge(kernel_of_shared(576, 512), schedule, h100()).reason;
  };
  CHECK(reason(turns(1, 64)) == "1 warpgroup cannot share out 2 sides of the values, one each");
  Schedule other = turns(2, 64);
  other.overlap = Overlap::IntraWarpgroup;
  CHECK(reason(other) ==
        "two sides of the values weigh blocks by turns: no overlap, no ping-pong, weights in "
        "shared memory");
  CHECK(reason(turns(2, 80)).ends_with("bytes of shared memory; h100 has 232448"));
}

TEST_CASE("narrow shared values are like others, less their loads") {
  const Kernel shared = kernel_of_shared(192, 128);
  CHECK(shared.sides == 1);
  CHECK(bytes_of_keys(shared, 1) == 2 * 192);
  const Ranking ranking = search(shared, h200());
  CHECK(std::ranges::any_of(ranking.ranked, [](const Candidate& c) {
    return c.schedule.overlap == Overlap::IntraWarpgroup && c.schedule.tile_q() == 128;
  }));
}

TEST_CASE("both products count once for each pair, whoever computes them") {
  CHECK(flop_of_pairs(kernel_of_shared(576, 512), 10) == 2 * 10 * (576 + 512));
}

}  // namespace
}  // namespace attngen::schedule
