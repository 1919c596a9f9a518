// Tiles that stand in several rows of the caller's blocks: who keeps what, and which tile is taken.
#include "schedule/block_rows.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "kernels.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of(const std::string& blocks) {
  return read_kernel("heads: {q: 32, kv: 32}\nworkload: {batch: 1, seq_q: 8192}\nblocks: {" +
                     blocks + "}\n");
}

Schedule tile(int warpgroups) {
  Schedule schedule;
  schedule.warpgroups = warpgroups;
  schedule.tile_kv = 64;
  schedule.ping_pong = false;
  schedule.order = Order::LongestFirst;
  return schedule;
}

TEST_CASE("rows of blocks that a tile may stand in") {
  const Kernel kernel = kernel_of("size: 64, from: bitmap");
  CHECK(block_rows(kernel, tile(1)) == 1);
  CHECK(block_rows(kernel, tile(3)) == 3);
  CHECK(block_rows(kernel_of("size: 128, from: bitmap"), tile(3)) == 2);
  CHECK(block_rows(kernel_of("size: 192, from: bitmap"), tile(3)) == 1);
  CHECK(block_rows(read_kernel("heads: {q: 4, kv: 4}\n"), tile(3)) == 1);
  CHECK(block_rows(kernel_of("size: 64, queries: 16, from: bitmap"), tile(3)) == 12);
}

TEST_CASE("rows of blocks that a scout looks at") {
  Schedule packed = tile(3);
  packed.pack_heads = true;
  // A warpgroup of 16 heads has 4 queries, one of 64 heads 1.
  CHECK(rows_of_blocks(packed, 1, 16) == 12);
  CHECK(rows_of_blocks(packed, 4, 16) == 3);
  CHECK(rows_of_blocks(packed, 64, 16) == 3);  // 12 queries do not divide 64
  CHECK(rows_of_blocks(packed, 12, 16) == 1);
  CHECK(rows_of_blocks(packed, 1, 64) == 3);
  CHECK(rows_of_blocks(tile(3), 64, 1) == 3);
  CHECK(rows_of_blocks(tile(3), 192, 1) == 1);
  CHECK(rows_of_blocks(tile(1), 1, 1) == 64);
  CHECK(rows_differ(packed, 1, 16));
  CHECK_FALSE(rows_differ(packed, 1, 64));
  CHECK(rows_differ(tile(1), 1, 1));
  CHECK_FALSE(skips_blocks(tile(1), 1, 1));
}

TEST_CASE("lists of a known length") {
  const auto kept = [](const std::string& rest) {
    return kernel_of("size: 64, queries: 1, from: indices" + rest).kept_blocks;
  };
  CHECK(kept("") == kKeptByData);
  CHECK(kept(", most: 16") == doctest::Approx(0.125));   // of 8192 keys
  CHECK(kept(", most: 1000") == doctest::Approx(0.99));  // of all, rows would not differ
  CHECK(kept_again(kernel_of("size: 64, from: bitmap")) == kKeptAgain);
  CHECK(kept_again(kernel_of("size: 64, queries: 1, from: bitmap")) ==
        doctest::Approx(0.9725).epsilon(1e-3));
  CHECK(kept_again(kernel_of("size: 64, from: bitmap, rows: apart")) == kKeptByData);
  const Kernel causal = read_kernel(
      "heads: {q: 64, kv: 4}\nmask: kv_idx <= q_pos\nworkload: {batch: 1, seq_q: 8192}\n"
      "blocks: {size: 64, queries: 1, from: indices, most: 16, per: heads_kv}\n");
  CHECK(causal.kept_blocks == doctest::Approx(0.234375));
  // The heads of a group share tiles: of few queries, which keep few blocks.
  CHECK(search(causal, h200()).ranked.front().schedule.pack_heads);
}

TEST_CASE("chances of keepers") {
  for (const double again : {kKeptAgain, kKeptByData}) {
    for (int rows = 1; rows <= 4; ++rows) {
      CAPTURE(again);
      CAPTURE(rows);
      const std::vector<double> chances = chances_of_keepers(rows, kKeptByData, again);
      double mean = 0;
      for (size_t k = 0; k < chances.size(); ++k) mean += static_cast<double>(k) * chances[k];
      CHECK(std::reduce(chances.begin(), chances.end()) == doctest::Approx(1));
      CHECK(mean == doctest::Approx(rows * kKeptByData));
    }
  }
  CHECK(chances_of_keepers(2, kKeptByData, kKeptByData)[1] == doctest::Approx(0.32));
  CHECK(chances_of_keepers(2, kKeptByData, kKeptAgain)[1] == doctest::Approx(0.08));
  CHECK(loads_of_kept(kernel_of("size: 64, from: bitmap"), tile(3)) == doctest::Approx(1.39));
  CHECK(loads_of_kept(kernel_of("size: 64, from: bitmap, rows: apart"), tile(3)) ==
        doctest::Approx(2.44));
}

TEST_CASE("rows that are alike share a tile, rows apart have their own") {
  // Measured on an H100: 192x64 takes 0.78 to 0.85 of the time of 64x64 where rows are alike, and
  // 1.06 to 1.09 of it where blocks are kept anywhere (docs/ladder.md).
  const auto fastest = [](const std::string& rows) {
    const Kernel kernel = kernel_of("size: 64, from: bitmap, rows: " + rows);
    return search(kernel, h200()).ranked.front().schedule;
  };
  CHECK(fastest("alike").tile_q() == 192);
  CHECK(fastest("apart").tile_q() == 64);
}

TEST_CASE("what rows share is loaded once") {
  const auto l2 = [](const std::string& rows) {
    const Kernel kernel = kernel_of("size: 64, from: bitmap, rows: " + rows);
    return judge(kernel, tile(3), h200()).candidate.value().cost.flop_per_l2_byte;
  };
  CHECK(l2("apart") < 0.7 * l2("alike"));
}

}  // namespace
}  // namespace attngen::schedule
