// Caches in pages: what of a page belongs to a tile is a copy, of which smaller pages take more.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "kernels.h"
#include "schedule/resources.h"
#include "schedule/search.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of_pages(int size) {
  const std::string pages = size > 0 ? "kv_cache: {paged: " + std::to_string(size) + "}\n" : "";
  return read_kernel("heads: {q: 32, kv: 8}\nmask: kv_idx <= q_pos\n" + pages +
                     "workload: {batch: 8, seq_q: 512, seq_kv: 8192}\n");
}

Schedule tiles(int tile_kv) {
  Schedule schedule;
  schedule.warpgroups = 2;
  schedule.tile_kv = tile_kv;
  schedule.stages = 2;
  schedule.ping_pong = false;
  schedule.order = Order::LongestFirst;
  return schedule;
}

double seconds(int page, int tile_kv) {
  const Judged judged = judge(kernel_of_pages(page), tiles(tile_kv), h200());
  REQUIRE(judged.candidate);
  return judged.candidate->cost.seconds;
}

TEST_CASE("pages of a tile's size cost nothing, small ones the copies of their parts") {
  CHECK(seconds(128, 128) == doctest::Approx(seconds(0, 128)).epsilon(0.001));
  CHECK(seconds(64, 128) == doctest::Approx(seconds(0, 128)).epsilon(0.01));
  CHECK(seconds(16, 128) > 1.03 * seconds(64, 128));
}

TEST_CASE("another warp brings values where copies are many") {
  const auto apart = [](int page, int tile_kv) {
    return has_values_apart(kernel_of_pages(page), tiles(tile_kv));
  };
  CHECK_FALSE(apart(0, 128));
  CHECK_FALSE(apart(64, 128));
  CHECK(apart(32, 128));
  CHECK(apart(16, 64));
  // Not values that are columns of the keys, nor beside biases that two warps may have to copy.
  CHECK_FALSE(has_values_apart(
      read_kernel("heads: {q: 32, kv: 8}\nkv_cache: {paged: 8}\nshare_kv: {v_prefix: 128}\n"),
      tiles(64)));
  CHECK_FALSE(has_values_apart(
      read_kernel(
          "heads: {q: 32, kv: 8}\nkv_cache: {paged: 8}\nscore: score + bias[h, q_idx, kv_idx]\n"
          "inputs: {bias: {dtype: bf16, shape: [heads, seq_q, seq_kv]}}\n"),
      tiles(64)));
}

TEST_CASE("where no box of TMA fits, or the least alone, rows are copied one by one") {
  const auto by_rows = [](int page, int tile_kv) {
    return copies_rows(kernel_of_pages(page), tiles(tile_kv));
  };
  CHECK_FALSE(by_rows(0, 128));
  CHECK_FALSE(by_rows(16, 128));
  CHECK(by_rows(8, 128));
  CHECK(by_rows(1, 128));
  // Of 12 keys, four stand in one page wherever a tile begins; of 24, eight, or all.
  CHECK(by_rows(12, 128));
  CHECK(by_rows(24, 128));
  CHECK_FALSE(by_rows(24, 48));
  CHECK(has_values_apart(kernel_of_pages(1), tiles(64)));
  // 18 clk for four rows of 64 columns, of keys and of values: 2304 a step of as many.
  CHECK(seconds(1, 128) / seconds(0, 128) == doctest::Approx(std::cbrt(2.0)).epsilon(0.05));
  CHECK(seconds(1, 128) == seconds(8, 128));
}

TEST_CASE("a tile that a page's keys divide has fewer copies than one that they do not") {
  // Of 112 keys seven copies, of 128 two: beside keys that are in no pages.
  CHECK(seconds(64, 112) / seconds(0, 112) > 1.01 * seconds(64, 128) / seconds(0, 128));
  const auto chosen = [](int page) {
    return search(kernel_of_pages(page), h200()).ranked.front().schedule.tile_kv;
  };
  CHECK(chosen(0) == 128);
  CHECK(chosen(80) == 160);
}

}  // namespace
}  // namespace attngen::schedule
