// Which rows the longest-first order begins with, and where the order is chosen by cost.
#include "schedule/row_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

Kernel masked(const std::string& mask) {
  return read_kernel("heads: {q: 16, kv: 16}\nmask: \"" + mask +
                     "\"\nworkload: {batch: 1, seq_q: 4096, seq_kv: 4096}\n");
}

TEST_CASE("the rows that begin first are those with the most keys") {
  for (const char* const mask : {"kv_idx >= q_pos", "kv_idx >= q_pos and kv_idx - q_pos < 512",
                                 "q_idx < 256 or kv_idx < 256 or abs(q_idx - kv_idx) < 128",
                                 "(q_pos // 64 - kv_idx // 64) % 4 == 0 and kv_idx >= q_pos"}) {
    CAPTURE(mask);
    CHECK(masked(mask).row_order.first_longest);
  }
  for (const char* const mask :
       {"true", "kv_idx <= q_pos", "abs(q_pos - kv_idx) <= 512", "q_idx % 96 == kv_idx % 96",
        "kv_idx <= q_pos and (q_pos // 64 - kv_idx // 64) % 4 == 0",
        "q_idx >= 3968 or abs(q_idx - kv_idx) < 128"}) {
    CAPTURE(mask);
    CHECK_FALSE(masked(mask).row_order.first_longest);
  }
}

TEST_CASE("the rows at the end are short where the mask leaves them few keys") {
  for (const char* const mask :
       {"kv_idx <= q_pos", "kv_idx >= q_pos", "kv_idx <= q_pos and q_pos - kv_idx < 1024"}) {
    CAPTURE(mask);
    CHECK(masked(mask).row_order.ends_short);
  }
  for (const char* const mask : {"true", "abs(q_pos - kv_idx) <= 512", "kv_idx < 3000"}) {
    CAPTURE(mask);
    CHECK_FALSE(masked(mask).row_order.ends_short);
  }
}

TEST_CASE("tiles are even where the mask's text leaves them about as many keys") {
  const auto even = [](const std::string& lines) {
    return read_kernel("heads: {q: 8, kv: 8}\ninputs: {n: {dtype: i32, shape: [batch]}}\n" + lines)
        .row_order.even;
  };
  const std::string chunk = "workload: {seq_q: 512, seq_kv: 8192}\n";
  CHECK(even("mask: kv_idx <= q_pos\n" + chunk));
  CHECK(even("mask: kv_idx <= q_pos and q_pos - kv_idx < 1024\n" + chunk));
  CHECK_FALSE(even("mask: kv_idx <= q_pos\n"));
  CHECK_FALSE(even("mask: kv_idx < n[b]\n" + chunk));
  CHECK_FALSE(even("mask: kv_idx < 500 * (b + 1)\n" + chunk));
  CHECK_FALSE(even("mask: kv_idx < 500 * (h + 1)\n" + chunk));
  CHECK_FALSE(even("mask: (q_pos // 64 - kv_idx // 64) % 4 == 0\n" + chunk));
}

TEST_CASE("the span of a tile's keys, unless it may be half of all") {
  CHECK(masked("kv_idx <= q_pos and q_pos - kv_idx < 1024").row_order.span == 128 + 1023);
  CHECK(masked("abs(q_pos - kv_idx) < 512").row_order.span == 511 + 128 + 511);
  CHECK(masked("kv_idx <= q_pos").row_order.span == 0);
  CHECK(masked("kv_idx <= q_pos and q_pos - kv_idx < 2048").row_order.span == 0);
}

TEST_CASE("where blocks are asked about one by one, the order is ranked") {
  const auto best = [](const char* mask) { return search(masked(mask), h200()).ranked.front(); };
  // The tiles that see all keys, all at the beginning, are 16 times as long as the others.
  CHECK(best("q_idx < 256 or kv_idx < 256 or abs(q_idx - kv_idx) < 128").schedule.order ==
        Order::LongestFirst);
  CHECK(best("not (q_pos // 32 == kv_idx // 32)").schedule.order == Order::Linear);
}

TEST_CASE("rows that repeat themselves are sampled at other places of each period") {
  const auto seconds = [](const char* mask) {
    return search(masked(mask), h200()).ranked.front().cost.seconds;
  };
  const double even = seconds("(q_idx // 128) % 8 == 0 or abs(q_idx - kv_idx) < 128");
  const double odd = seconds("(q_idx // 128) % 8 == 5 or abs(q_idx - kv_idx) < 128");
  CHECK(even == doctest::Approx(odd).epsilon(0.1));
}

TEST_CASE("a sample has one of each share, at different places") {
  for (const int64_t count : {int64_t{1}, int64_t{16}, int64_t{24}, int64_t{4096}}) {
    const int64_t samples = std::min<int64_t>(count, 16);
    double sum = 0;
    std::vector<int64_t> places;
    for (int64_t i = 0; i < samples; ++i) {
      const int64_t found = spread_sample(i, samples, count);
      CHECK(found >= i * count / samples);
      CHECK(found <= (i + 1) * count / samples);
      CHECK(found < count);
      sum += static_cast<double>(found);
      places.push_back(found * samples % count);
    }
    const double mean = static_cast<double>(count - 1) / 2;
    CHECK(sum / static_cast<double>(samples) == doctest::Approx(mean).epsilon(0.02));
    if (count < 4096) continue;
    std::ranges::sort(places);
    CHECK(std::ranges::adjacent_find(places) == places.end());
  }
}

}  // namespace
}  // namespace attngen::schedule
