// Two maps of scores: which schedules fit, what they hold, what they are predicted to cost.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "kernels.h"
#include "schedule/cost.h"
#include "schedule/resources.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of_maps(int maps, int qk, int v, const std::string& lines = "", int heads_q = 16,
                      int heads_kv = 16) {
  return kernel_of_lines("heads: {q: " + std::to_string(heads_q) +
                         ", kv: " + std::to_string(heads_kv) + "}\n" + head_dims(qk, v) +
                         "maps: " + std::to_string(maps) +
                         "\nworkload: {seq_q: 8192}\nmask: kv_idx <= q_pos\n" + lines);
}

Schedule pairs_of(int warpgroups, int tile_kv) {
  Schedule schedule;
  schedule.warpgroups = warpgroups;
  schedule.tile_kv = tile_kv;
  schedule.ping_pong = false;
  return schedule;
}

TEST_CASE("the warpgroups of a pair share their rows") {
  const Judged one = judge(kernel_of_maps(1, 64, 128), pairs_of(2, 64), h100());
  const Judged two = judge(kernel_of_maps(2, 64, 128), pairs_of(2, 64), h100());
  CHECK(one.candidate->schedule.tile_q() == 128);
  CHECK(two.candidate->schedule.tile_q() == 64);
  CHECK(two.candidate->schedule.row_blocks() == 1);
  CHECK(describe(two.candidate->schedule).starts_with("64x64, "));
  // As many rows of queries; keys of both maps in a slot; values of one.
  const Resources &a = one.candidate->resources, &b = two.candidate->resources;
  CHECK(a.query_stages == b.query_stages);
  CHECK(b.shared_bytes == a.shared_bytes + 2 * 64 * 64 * 2);
  CHECK(a.register_need == b.register_need);
}

TEST_CASE("an odd number of warpgroups cannot share out two maps") {
  const Kernel kernel = kernel_of_maps(2, 64, 64);
  CHECK(judge(kernel, pairs_of(1, 64), h100()).reason ==
        "1 warpgroup cannot share out 2 maps of scores, one each");
  CHECK(judge(kernel, pairs_of(3, 64), h100()).reason ==
        "3 warpgroups cannot share out 2 maps of scores, one each");
  CHECK(judge(kernel, pairs_of(2, 64), h100()).reason == "");
  CHECK(judge(kernel, pairs_of(4, 64), h100()).reason == "");
  const Ranking ranking = search(kernel, h100());
  REQUIRE(!ranking.ranked.empty());
  for (const Candidate& candidate : ranking.ranked) {
    CHECK(candidate.schedule.warpgroups % 2 == 0);
    CHECK(candidate.schedule.partners == 2);
  }
}

TEST_CASE("heads are packed beside maps") {
  Schedule packed = pairs_of(2, 64);
  packed.pack_heads = true;
  CHECK(judge(kernel_of_maps(2, 64, 64, "", 16, 4), packed, h100()).reason == "");
}

TEST_CASE("operations and bytes of two maps") {
  const Kernel one = kernel_of_maps(1, 64, 128), two = kernel_of_maps(2, 64, 128);
  CHECK(flop_of_pairs(two, 1000) == 2 * flop_of_pairs(one, 1000));
  CHECK(bytes_of_keys(one, 10) == 2 * 10 * (64 + 128));
  CHECK(bytes_of_keys(two, 10) == 2 * 10 * (2 * 64 + 128));
}

// A map is a head more of scores over values that are there already: less than two calls, which
// load the values twice, and no less than the work of both.
TEST_CASE("two maps take about as long as two kernels of one") {
  for (const auto& dims : {std::pair{64, 128}, {128, 256}, {64, 64}}) {
    const int qk = dims.first, v = dims.second;
    CAPTURE(qk);
    const Cost one = search(kernel_of_maps(1, qk, v), h100()).ranked.front().cost;
    const Cost two = search(kernel_of_maps(2, qk, v), h100()).ranked.front().cost;
    CHECK(two.seconds > 1.6 * one.seconds);
    CHECK(two.seconds < 2.6 * one.seconds);
  }
}

}  // namespace
}  // namespace attngen::schedule
