// Blocks that a mask with gaps keeps, against every pair of them.
#include "schedule/tested_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>

#include "attention/given.h"
#include "kernels.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

struct GapMask {
  std::string text;
  std::function<bool(int64_t q, int64_t k)> keeps;
};

const GapMask kMasks[] = {
    {"not (q_pos // 32 == kv_idx // 32)", [](auto q, auto k) { return q / 32 != k / 32; }},
    {"(q_pos // 64 - kv_idx // 64) % 4 == 0",
     [](auto q, auto k) { return (q / 64 - k / 64) % 4 == 0; }},
    {"kv_idx <= q_pos and (q_pos - kv_idx < 100 or kv_idx // 64 == 0)",
     [](auto q, auto k) { return k <= q && (q - k < 100 || k / 64 == 0); }},
};

TestedBlocks asked(const attention::BlockTest& test, const TilePlace& place, int64_t seq,
                   int tile_kv) {
  return BlockTester(test).ask(std::span(&place, 1), {seq, seq, tile_kv}).front();
}

// Of the pairs of a block: all, some, none.
TestedBlocks counted(const GapMask& mask, const TilePlace& place, int64_t seq, int tile_kv) {
  TestedBlocks counts;
  for (int64_t first = 0; first < seq; first += tile_kv) {
    int64_t pairs = 0;
    for (int64_t q = place.q_first; q <= place.q_last; ++q) {
      for (int64_t k = first; k < std::min(first + tile_kv, seq); ++k) pairs += mask.keeps(q, k);
    }
    const int64_t all = (place.q_last - place.q_first + 1) * tile_kv;
    counts.full += pairs == all;
    counts.partial += pairs > 0 && pairs < all;
  }
  return counts;
}

TEST_CASE("blocks that are asked about are counted as the kernel visits them") {
  constexpr int64_t kSeq = 1000;
  for (const GapMask& mask : kMasks) {
    const auto test = attention::block_test(parse_mask(mask.text), {});
    REQUIRE(test);
    const attention::KeyRange range = attention::key_range(parse_mask(mask.text), {});
    for (const int queries : {16, 64, 192}) {
      for (const int tile_kv : {16, 48, 64, 128}) {
        const TileRows rows = tile_rows(range, kSeq, kSeq, queries, kSeq);
        for (size_t i = 0; i < rows.keys.size(); ++i) {
          const int64_t first = rows.first[i];
          const TilePlace place{first, std::min(first + queries, kSeq) - 1, rows.keys[i]};
          const TestedBlocks found = asked(*test, place, kSeq, tile_kv);
          const TestedBlocks expected = counted(mask, place, kSeq, tile_kv);
          CAPTURE(mask.text);
          CAPTURE(first);
          CAPTURE(queries);
          CAPTURE(tile_kv);
          CHECK(found.full + found.partial == expected.full + expected.partial);
          // Two stretches may cover a block together.
          CHECK(found.full <= expected.full);
          CHECK((found.full == expected.full || &mask == &kMasks[2]));
        }
      }
    }
  }
}

TEST_CASE("heads whose masks differ are all asked") {
  const Kernel kernel = read_kernel(
      "heads: {q: 16, kv: 4}\n"
      "mask: kv_idx <= q_pos and (q_pos // 64 - kv_idx // 64 + h) % 4 == 0\n");
  REQUIRE(kernel.test);
  BlockTester tester(*kernel.test);
  for (const size_t most : {4, 16, 64, 1000}) {  // rows: fewer than heads, as many, more, all
    CAPTURE(most);
    const TileRows rows =
        tile_rows(kernel.range, 1024, 1024, 64, static_cast<int64_t>(most), 64, kernel.mask_heads);
    CHECK(rows.heads.size() == std::clamp<size_t>(most, 16, 256));
    double blocks = 0;
    for (const TestedBlocks& tile : tester.ask(places_of(rows, 1024, 64), {1024, 1024, 64})) {
      blocks += (tile.full + tile.partial) * rows.stride * 16;
    }
    // A quarter of 16 heads' 136.
    CHECK(blocks == doctest::Approx(4 * 136).epsilon(most == 1000 ? 1e-9 : 0.1));
  }
}

TEST_CASE("of a mask that is asked of all pairs, what its text proves counts") {
  const Kernel kernel = read_kernel(
      "heads: {q: 8, kv: 2}\n"
      "inputs: {tree: {dtype: u8, shape: [64, 64]}}\n"
      "mask: kv_idx < seq_kv - seq_q or tree[q_idx, kv_idx - (seq_kv - seq_q)] != 0\n");
  REQUIRE(kernel.test);
  REQUIRE(attention::asks_pairs(*kernel.test));
  const TilePlace place{0, 63, {0, 1024 + 64, 0, 0}};
  const TestedBlocks blocks =
      BlockTester(*kernel.test).ask(std::span(&place, 1), {64, 1024 + 64, 64}).front();
  // Of 16 blocks before the queries all are whole; of the one beside them half are kept, half
  // whole.
  CHECK(blocks.full == doctest::Approx(16 + 0.5 * 0.5));
  CHECK(blocks.partial == doctest::Approx(0.5 * 0.5));
}

TEST_CASE("of many blocks some stand for all") {
  const auto test = attention::block_test(parse_mask(kMasks[1].text), {});
  REQUIRE(test);
  // A quarter of 65536.
  const TestedBlocks found = asked(*test, {0, 63, {0, 1 << 20, 0, 0}}, 1 << 20, 16);
  CHECK(found.full + found.partial == doctest::Approx(16384).epsilon(0.1));
}

// Blocks of 64 behind a window of 200, of which n[b] decides.
TEST_CASE("a block that an input decides counts as a share") {
  const auto test = read_kernel(
                        "heads: {q: 8, kv: 8}\ninputs: {n: {dtype: i32, shape: [batch]}}\n"
                        "mask: kv_idx <= q_pos and (kv_idx < n[b] or q_pos - kv_idx < 200)\n")
                        .test;
  REQUIRE(test);
  const TestedBlocks found = asked(*test, {1024, 1087, {0, 1088, 0, 1025}}, 2048, 64);
  CHECK(found.full + found.partial == doctest::Approx(5 + 12 * kKeptByData));
}

TEST_CASE("ids in no order are taken to come in stretches") {
  const auto test = read_kernel(
                        "heads: {q: 8, kv: 8}\ninputs: {id: {dtype: i32, shape: [batch, seq_kv]}}\n"
                        "mask: id[b, q_pos] == id[b, kv_idx]\n")
                        .test;
  REQUIRE(test);
  const auto keys_of = [&](int64_t queries, int tile_kv, const spec::Values& values = {}) {
    const TestedBlocks found = asked(attention::given(*test, values),
                                     {1024, 1023 + queries, {0, 8192, 0, 0}}, 8192, tile_kv);
    return std::array{found.full * tile_kv, found.partial * tile_kv};
  };
  // A tile has queries of 1 + 64 / 512 stretches, which end 64 keys beyond in the mean.
  const auto [full, partial] = keys_of(64, 64);
  CHECK(full + partial == doctest::Approx(kStretch + 64 + 64));
  CHECK(full == doctest::Approx((kStretch - 64) * (kStretch - 64) / kStretch));
  CHECK(keys_of(1024, 64)[0] == 0);
  // A point of the workload may know better.
  const auto given = keys_of(64, 64, {{"id", {2048, spec::GivenValue::Of::Ids}}});
  CHECK(given[0] + given[1] == doctest::Approx(2048 + 64 + 64));
  CHECK(keys_of(8192, 64)[1] == 8192);
  CHECK(compares_ids(*test));
}

TEST_CASE("of blocks of keys most are no padding") {
  const auto test = read_kernel(
                        "heads: {q: 8, kv: 8}\ninputs: {id: {dtype: i32, shape: [batch, seq_kv]}}\n"
                        "mask: id[b, kv_idx] != 0\n")
                        .test;
  REQUIRE(test);
  CHECK_FALSE(compares_ids(*test));
  const TestedBlocks found = asked(*test, {0, 63, {0, 6400, 0, 0}}, 6400, 64);
  CHECK(marks_keys(*test));
  CHECK(found.full == doctest::Approx(100 * kKeptByKeys * kWholeByKeys));
  CHECK(found.partial == doctest::Approx(100 * kKeptByKeys * (1 - kWholeByKeys)));
}

TEST_CASE("a kernel knows its test") {
  const auto kernel = [](const char* mask) {
    return read_kernel(std::string("heads: {q: 8, kv: 8}\n"
                                   "inputs: {n: {dtype: i32, shape: [batch]}, id: {dtype: i32, "
                                   "shape: [batch, seq_kv]}}\nmask: ") +
                       mask + "\n");
  };
  CHECK(kernel("not (q_pos // 32 == kv_idx // 32)").test);
  CHECK(kernel("kv_idx < n[b] or q_pos - kv_idx < 200").test);
  CHECK(kernel("id[b, q_pos] == id[b, kv_idx]").test);
  CHECK_FALSE(kernel("kv_idx <= q_pos").test);
}

}  // namespace
}  // namespace attngen::schedule
