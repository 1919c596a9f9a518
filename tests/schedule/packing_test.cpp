// Query heads packed into the tile: when it fits, when it is looked at, what it is predicted to
// save.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels.h"
#include "schedule/search.h"
#include "schedule/space.h"
#include "target/target.h"

namespace attngen::schedule {
namespace {

// 64 query heads on 8 key heads, batch 8, `seq_q` queries of 8192 keys.
Kernel kernel_of(int64_t seq_q, const std::string& lines = "",
                 const std::string& heads = "{q: 64, kv: 8}") {
  return read_kernel("heads: " + heads + "\nworkload: {batch: 8, seq_q: " + std::to_string(seq_q) +
                     ", seq_kv: 8192}\n" + lines);
}

Schedule packed(int warpgroups = 1) {
  Schedule schedule;
  schedule.warpgroups = warpgroups;
  schedule.ping_pong = warpgroups > 1;
  schedule.pack_heads = true;
  return schedule;
}

bool any_packed(const Ranking& ranking) {
  return std::ranges::any_of(ranking.ranked,
                             [](const Candidate& c) { return c.schedule.pack_heads; });
}

TEST_CASE("what cannot be packed says why") {
  const auto reason = [](const Kernel& kernel) { return judge(kernel, packed(), h100()).reason; };
  CHECK(reason(kernel_of(16)) == "");
  CHECK(reason(kernel_of(16, "mask: kv_idx <= q_pos\n")) == "");
  CHECK(reason(kernel_of(16,
                         "inputs: {slopes: {dtype: f32, shape: [heads]}}\n"
                         "score: score + slopes[h]\n")) == "");
  CHECK(reason(kernel_of(16, "", "{q: 8, kv: 8}")) ==
        "every query head has a key head of its own: none share a tile");
  CHECK(reason(kernel_of(16, "", "{q: 28, kv: 4}")) == "");
  CHECK(reason(kernel_of(16, "", "{q: 71, kv: 1}")) == "");
  CHECK(reason(kernel_of(16, "mask: kv_idx < 100 * h\n")) ==
        "the mask reads h: heads may need different keys");
  CHECK(reason(kernel_of(16, "mask: kv_idx < 100 * h_kv\n")) == "");
  CHECK(reason(kernel_of(16, "blocks: {size: 128, from: bitmap}\n")) ==
        "each head keeps blocks of its own");
  CHECK(reason(kernel_of(16, "blocks: {size: 128, from: bitmap, per: heads_kv}\n")) == "");
  // A mask empties none of the blocks that are given: nothing is asked of them.
  CHECK(reason(kernel_of(16,
                         "blocks: {size: 128, from: bitmap, per: heads_kv}\n"
                         "mask: (q_pos - kv_idx) % 2 == 0\n")) == "");
}

TEST_CASE("heads that share biases, or have neighbouring ones, share a tile that loads them") {
  const auto kernel = [](const std::string& load, const std::string& shape,
                         const std::string& heads = "{q: 64, kv: 8}") {
    return kernel_of(1,
                     "inputs: {bias: {dtype: bf16, shape: [" + shape + "seq_q, seq_kv]}}\n" +
                         "score: score + bias[" + load + "q_idx, kv_idx]\n",
                     heads);
  };
  const auto reason = [](const Kernel& of) { return judge(of, packed(), h100()).reason; };
  const Kernel shared = kernel("b, ", "batch, "), own = kernel("b, h, ", "batch, heads, ");
  CHECK(reason(shared) == "");
  CHECK(shared.of(packed()).bias_bytes == 2);
  CHECK(shared.of(packed()).bias_group == 8);
  CHECK(shared.of(packed()).bias_sharing == 8);  // key heads
  CHECK(reason(own) == "");
  CHECK(own.of(packed()).bias_group == 1);
  CHECK(own.of(packed()).bias_sharing == 1);
  CHECK(reason(kernel("h // 2, ", "32, ")) == "each head has biases of its own");
  CHECK(reason(kernel("h, b, ", "heads, batch, ")) == "each head has biases of its own");
  CHECK(reason(kernel("h, ", "heads, ", "{q: 68, kv: 4}")) == "each head has biases of its own");
}

TEST_CASE("values of keys that heads have of their own come once for each head, up to eight") {
  const std::string gates =
      "inputs: {gates: {dtype: f32, shape: [heads, seq_kv]}}\n"
      "score: score - gates[h, kv_idx]\n";
  const auto strip_heads = [&](const std::string& heads, const std::string& lines) {
    const Kernel whole = kernel_of(1, lines, heads);
    const Kernel& kernel = whole.of(packed());
    return kernel.key_strips > 0 ? kernel.strip_heads : 0;
  };
  CHECK(strip_heads("{q: 64, kv: 8}", gates) == 8);
  CHECK(strip_heads("{q: 28, kv: 4}", gates) == 8);
  CHECK(strip_heads("{q: 32, kv: 8}", gates) == 4);
  CHECK(strip_heads("{q: 64, kv: 4}", gates) == 0);
  const std::string shared =
      "inputs: {gates: {dtype: f32, shape: [heads_kv, seq_kv]}}\n"
      "score: score - gates[h_kv, kv_idx]\n";
  CHECK(strip_heads("{q: 64, kv: 8}", shared) == 1);
  CHECK(strip_heads("{q: 64, kv: 4}", shared) == 1);
}

TEST_CASE("heads that keep the same blocks share a tile that is higher than a block") {
  const std::string blocks = "blocks: {size: 64, from: bitmap, per: heads_kv}\n";
  CHECK(worth_packing(packed(2), kernel_of(8192, blocks)));
  CHECK_FALSE(worth_packing(packed(1), kernel_of(8192, blocks)));
  const Schedule best = search(kernel_of(8192, blocks), h100()).ranked.front().schedule;
  CHECK(best.pack_heads);
  CHECK(best.tile_kv == 128);  // two blocks a step
  CHECK(64 % best.queries(kernel_of(8192, blocks).group()) == 0);
  CHECK(best.order == Order::LongestFirst);
}

TEST_CASE("where memory is the bound, the tile that computes faster is taken") {
  // 16 queries of 8192 keys: all packed tiles read the same bytes. On an H100 64x128 was
  // measured 1.11 times as fast as 64x64.
  const std::vector<Candidate> ranked = search(kernel_of(16), h100()).ranked;
  CHECK(ranked.front().cost.bound == Bound::Memory);
  CHECK(ranked.front().schedule.tile_kv >= 112);
}

TEST_CASE("packing is looked at where some workload point has few rows") {
  for (int warpgroups = 1; warpgroups <= 4; ++warpgroups) {
    const int rows = 64 * warpgroups;
    CHECK(worth_packing(packed(warpgroups), kernel_of(1)));
    CHECK(worth_packing(packed(warpgroups), kernel_of(2 * rows - 1)));
    CHECK_FALSE(worth_packing(packed(warpgroups), kernel_of(int64_t{2} * rows)));
    CHECK_FALSE(worth_packing(packed(warpgroups), kernel_of(1, "", "{q: 8, kv: 8}")));
  }
  CHECK(any_packed(search(kernel_of(16), h100())));
  CHECK_FALSE(any_packed(search(kernel_of(512), h100())));
  CHECK_FALSE(any_packed(search(kernel_of(16, "", "{q: 8, kv: 8}"), h100())));
  // Where it cannot be, the rejections say so.
  const Ranking refused = search(kernel_of(16, "mask: kv_idx < 100 * h\n"), h100());
  CHECK_FALSE(any_packed(refused));
  CHECK(std::ranges::any_of(refused.rejected, [](const Rejection& r) {
    return r.schedule.pack_heads && r.reason == "the mask reads h: heads may need different keys";
  }));
}

TEST_CASE("seven heads of a key head take the rows and the time of eight") {
  const Candidate seven = search(kernel_of(8, "", "{q: 56, kv: 8}"), h100()).ranked.front();
  const Candidate eight = search(kernel_of(8), h100()).ranked.front();
  CHECK(seven.schedule.pack_heads);
  CHECK(seven.schedule.queries(7) == eight.schedule.queries(8));
  CHECK(seven.cost.waves == doctest::Approx(eight.cost.waves));
  CHECK(seven.cost.seconds == doctest::Approx(eight.cost.seconds).epsilon(0.02));
}

TEST_CASE("of more than 64 heads a tile has a part") {
  static_assert(head_parts(64) == 1 && head_parts(65) == 2 && head_parts(192) == 3);
  static_assert(part_heads(71) == 36 && packed_rows(71) == 64 && part_heads(192) == 64);
  const auto best = [](const std::string& heads) {
    return search(kernel_of(1, "", heads), h100()).ranked.front();
  };
  const Candidate half = best("{q: 64, kv: 1}"), whole = best("{q: 128, kv: 1}");
  CHECK(whole.schedule.pack_heads);
  // Twice the tiles, on the same keys: these come once from memory.
  CHECK(whole.cost.seconds > half.cost.seconds);
  CHECK(whole.cost.seconds < 1.3 * half.cost.seconds);
}

TEST_CASE("heads share tiles whose values have parts") {
  const auto best = [](int heads, int queries) {
    const std::string call = "{batch: 64, seq_q: " + std::to_string(queries) + ", seq_kv: 4096}";
    return search(read_kernel(
                      "heads: {q: " + std::to_string(heads) + ", kv: 1}\nworkload: " + call + "\n",
                      target::Family::Hopper, 512),
                  h100())
        .ranked.front();
  };
  const Candidate decode = best(128, 1), one = best(1, 128);
  CHECK(decode.schedule.pack_heads);
  // As many rows of one head take as long: keys and values come once from memory.
  CHECK(decode.cost.seconds == doctest::Approx(one.cost.seconds).epsilon(0.05));
  const double bytes = 2.0 * 64 * 4096 * (512 + 512);
  CHECK(decode.cost.seconds > bytes / h100().memory_bytes_per_s);
  CHECK(decode.cost.seconds < 1.3 * bytes / h100().memory_bytes_per_s);
}

TEST_CASE("few queries of packed sequences share tiles too") {
  const Candidate best = search(kernel_of(1, "varlen: true\n"), h100()).ranked.front();
  CHECK(best.schedule.pack_heads);
  CHECK(best.schedule.order == Order::LongestFirst);
}

TEST_CASE("packed tiles of few rows are fewer, and load the keys once for their heads") {
  const Kernel kernel = kernel_of(8);
  Schedule apart = packed();
  apart.pack_heads = false;
  const Cost one = judge(kernel, apart, h100()).candidate->cost;
  const Cost eight = judge(kernel, packed(), h100()).candidate->cost;
  CHECK(one.waves == doctest::Approx(8 * eight.waves));  // 8 queries of 8 heads are 64 rows
  CHECK(one.blocks == doctest::Approx(8 * eight.blocks));
  CHECK(eight.flop_per_l2_byte > 6 * one.flop_per_l2_byte);  // queries and output are loaded too
  CHECK(one.seconds > 2 * eight.seconds);
  CHECK(search(kernel, h100()).ranked.front().schedule.pack_heads);
}

TEST_CASE("what packing does not help comes first without it") {
  // 64 queries fill a tile of 64 rows: as many tiles either way.
  const Kernel kernel = kernel_of(64);
  Schedule apart = packed();
  apart.pack_heads = false;
  CHECK(judge(kernel, apart, h100()).candidate->cost.seconds ==
        judge(kernel, packed(), h100()).candidate->cost.seconds);
  const Ranking ranking = search(kernel, h100());
  for (size_t i = 0; i + 1 < ranking.ranked.size(); ++i) {
    const Candidate &a = ranking.ranked[i], &b = ranking.ranked[i + 1];
    CHECK_FALSE(
        (a.cost.seconds == b.cost.seconds && a.schedule.pack_heads && !b.schedule.pack_heads));
  }
}

TEST_CASE("warpgroups without a row make no tile of few queries faster") {
  const Kernel kernel = kernel_of(1, "mask: kv_idx <= q_pos and q_pos - kv_idx < 400\n");
  const Ranking ranking = search(kernel, h100());
  CHECK(ranking.ranked.front().schedule.warpgroups == 1);
  for (const Candidate& c : ranking.ranked) {
    Schedule lone = c.schedule;
    lone.warpgroups = 1;
    lone.ping_pong = false;
    const Judged judged = judge(kernel, lone, h100());
    if (judged.candidate) CHECK(judged.candidate->cost.seconds < 1.01 * c.cost.seconds);
  }
}

TEST_CASE("a packed tile under a mask loads the keys of its own queries") {
  // 128 queries of causal rows: packed, 64 rows are 8 queries, so tiles differ in length.
  const Kernel kernel = kernel_of(128, "mask: kv_idx <= q_pos\n");
  const Ranking ranking = search(kernel, h100());
  REQUIRE(any_packed(ranking));
  for (const Candidate& c : ranking.ranked) {
    if (c.schedule.pack_heads) CHECK(c.schedule.order == Order::LongestFirst);
  }
}

}  // namespace
}  // namespace attngen::schedule
