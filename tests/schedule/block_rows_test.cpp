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
}

TEST_CASE("chances of keepers") {
  for (const bool alike : {true, false}) {
    for (int rows = 1; rows <= 4; ++rows) {
      CAPTURE(alike);
      CAPTURE(rows);
      const std::vector<double> chances = chances_of_keepers(rows, alike);
      double mean = 0;
      for (size_t k = 0; k < chances.size(); ++k) mean += static_cast<double>(k) * chances[k];
      CHECK(std::reduce(chances.begin(), chances.end()) == doctest::Approx(1));
      CHECK(mean == doctest::Approx(rows * kKeptByData));
    }
  }
  CHECK(chances_of_keepers(2, false)[1] == doctest::Approx(0.32));
  CHECK(chances_of_keepers(2, true)[1] == doctest::Approx(0.08));
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
