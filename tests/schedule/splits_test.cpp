// Splits of a tile's keys: when a kernel can have them, how many a call has, when the search takes
// them.
#include "schedule/splits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "kernels.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of(int64_t seq_q, int64_t seq_kv, const std::string& lines = "",
                 const std::string& heads = "{q: 8, kv: 8}") {
  return read_kernel("heads: " + heads + "\nworkload: {batch: 1, seq_q: " + std::to_string(seq_q) +
                     ", seq_kv: " + std::to_string(seq_kv) + "}\n" + lines);
}

Schedule split(int warpgroups = 1) {
  Schedule schedule;
  schedule.warpgroups = warpgroups;
  schedule.ping_pong = false;
  schedule.split_keys = true;
  return schedule;
}

// Of heads with keys of their own, of 128 values, and 128 keys a step.
int64_t splits(int heads, const spec::Workload& call, const Schedule& schedule = split(),
               RowOrder order = {}, bool masked = false) {
  Resources resources;
  resources.places = 132;
  resources.row_order = order;
  return splits_of(schedule, resources, {heads, heads, 128, masked}, call);
}

TEST_CASE("keys of any kernel may be split") {
  Schedule schedule = split(2);
  schedule.tile_kv = 64;
  const auto reason = [&](const std::string& lines) {
    return judge(kernel_of(16, 8192, lines), schedule, h100()).reason;
  };
  CHECK(reason("") == "");
  CHECK(reason("mask: kv_idx <= q_pos and q_pos - kv_idx < 3000\n") == "");
  CHECK(reason("normalize: {weight: sigmoid(score)}\n") == "");
  CHECK(reason("maps: 2\n") == "");
  CHECK(reason("blocks: {size: 128, from: bitmap}\n") == "");
  CHECK(reason("mask: kv_idx % 512 < 64\n") == "");
  schedule.order = Order::LongestFirst;
  CHECK(reason("varlen: true\n") == "");
}

TEST_CASE("a call has as many splits as end it first") {
  CHECK(splits(8, {1, 1, 100}) == 1);
  CHECK(splits(8, {1, 1, 1024}) == 8);
  // 64 blocks of keys for each of 8 tiles: 16 splits of four would leave the joining kernel 4
  // places of 132.
  CHECK(splits(8, {1, 1, 8192}) == 13);
  CHECK(splits(132, {1, 1, 8192}) == 1);
  CHECK(splits(66, {1, 1, 8192}) == 2);
  // Three splits of 88 tiles are two full waves.
  CHECK(splits(88, {1, 1, 8192}) == 3);
  // The more rows, the more there is to join.
  CHECK(splits(8, {1, 128, 8192}) == 8);
  CHECK(splits(66, {1, 64, 8192}) == 2);
  CHECK(splits(66, {1, 64, 512}) == 1);
  // Of 150 tiles the second wave would be an eighth full; three splits are four waves.
  CHECK(splits(150, {1, 1, 32768}) == 3);
  CHECK(splits(265, {1, 1, 32768}) == 1);
  CHECK(splits(100, {1000000, 1000000, 1000000}) == 1);
}

TEST_CASE("a call of more tiles than an int64_t holds has no splits") {
  constexpr int64_t kLong = int64_t{1} << 30;
  CHECK(splits(1024, {kLong, kLong, kLong}) == 1);
  CHECK(splits(65535, {2 * kLong, 2 * kLong, 2 * kLong}) == 1);
  Schedule packed = split();
  packed.pack_heads = true;
  Resources resources;
  resources.places = 132;
  CHECK(splits_of(packed, resources, {65535, 1, 128}, {2 * kLong, 2 * kLong, 2 * kLong}) == 1);
}

TEST_CASE("how long tiles are is known, or not") {
  // Under a causal mask a second wave is not as long as the first.
  const RowOrder causal{.ends_short = true};
  CHECK(splits(2, {1, 8192, 8192}, split(2), causal, true) == 2);
  CHECK(splits(3, {1, 8192, 8192}, split(2), causal, true) == 1);
  CHECK(splits(8, {1, 2048, 2048}, split(2), causal, true) == 1);
  // A mask may leave any tile a few keys: there is no wave to share out.
  CHECK(splits(66, {1, 1, 8192}, split(), {}, true) == 2);
  CHECK(splits(150, {1, 1, 32768}, split(), {}, true) == 1);
  // Unless its text says that it leaves all tiles as many.
  CHECK(splits(150, {1, 1, 32768}, split(), {.even = true}, true) == 3);
}

TEST_CASE("of a window's keys no more are split than a tile sees") {
  const RowOrder window{.span = 1000};
  CHECK(splits(8, {1, 1, 65536}, split(), window) == splits(8, {1, 1, 1064}));
  Schedule whole = split();
  whole.split_keys = false;
  CHECK(splits(8, {1, 1, 65536}, whole) == 1);
}

TEST_CASE("packed sequences share out the parts of splits") {
  Schedule schedule = split();
  Resources resources;
  resources.places = 132;
  const auto parts = [&](int64_t batch, int64_t seq_q, int64_t seq_kv, bool varlen = true) {
    return most_parts(schedule, resources, {8, 8, 128, false, false, varlen},
                      {batch, seq_q, seq_kv});
  };
  // As many as even ones leave.
  CHECK(parts(8, 1, 8192) == 8 * 2);
  CHECK(parts(8, 1, 8192, false) == 8 * 2);
  // Of a mean that is not split a longer one may be, if the call is long.
  CHECK(parts(64, 1, 8192) == 64 * 2);
  CHECK(parts(64, 1, 8192, false) == 0);
  CHECK(parts(64, 1, 1024) == 0);
  CHECK(parts(256, 1, 8192) == 256 * 2);
  CHECK(parts(257, 1, 8192) == 0);
  // Nor of many rows, each of which the joining kernel looks at.
  CHECK(parts(64, 16, 8192) == 2 * 64 * 16);
  CHECK(parts(64, 17, 8192) == 0);
  schedule.split_keys = false;
  CHECK(parts(64, 1, 8192) == 0);
}

TEST_CASE("a part of a row takes multiples of 16 bytes") {
  CHECK(part_bytes(128, 2) == 528);
  CHECK(part_bytes(128, 0) == 528);  // a struct without members has a byte
  CHECK(part_bytes(40, 5) == 192);
}

TEST_CASE("parts of the values have tiles and rows of their own") {
  Resources resources;
  resources.places = 132;
  for (const spec::Workload& call : {spec::Workload{1, 1, 1024}, spec::Workload{2, 70, 8192}}) {
    CHECK(splits_of(split(), resources, {.q = 8, .kv = 8, .head_dim_v = 128, .value_parts = 2},
                    call) == splits(16, call));
  }
  // One sequence of 128 heads on one key is four tiles.
  const Kernel decode =
      read_kernel("heads: {q: 128, kv: 1}\nworkload: {batch: 1, seq_q: 1, seq_kv: 16384}\n",
                  target::Family::Hopper, 512);
  const Candidate best = search(decode, h100()).ranked.front();
  CHECK(best.schedule.pack_heads);
  CHECK(best.schedule.split_keys);
  CHECK(best.cost.splits > 16);
}

TEST_CASE("the search splits keys where tiles are few") {
  const auto first = [](const Kernel& kernel) { return search(kernel, h100()).ranked.front(); };
  const Candidate few = first(kernel_of(16, 65536));
  CHECK(few.schedule.split_keys);
  CHECK(few.cost.join_seconds > 0);
  CHECK(first(kernel_of(16, 65536, "normalize: {weight: relu(score)}\n")).schedule.split_keys);
  const auto any_split = [](const Kernel& kernel) {
    return std::ranges::any_of(search(kernel, h100()).ranked,
                               [](const Candidate& c) { return c.schedule.split_keys; });
  };
  CHECK(!any_split(kernel_of(8192, 8192, "", "{q: 32, kv: 32}")));
  CHECK(!any_split(kernel_of(16, 200)));
  CHECK(!any_split(kernel_of(8192, 8192, "varlen: true\n", "{q: 32, kv: 32}")));
}

TEST_CASE("the search splits keys of few packed queries") {
  for (const int batch : {1, 2, 4}) {
    Kernel kernel = kernel_of(1, 8192, "varlen: true\n", "{q: 32, kv: 8}");
    kernel.workload.front().batch = batch;
    const Candidate first = search(kernel, h100()).ranked.front();
    CHECK(first.schedule.split_keys);
    CHECK(first.schedule.pack_heads);
  }
}

TEST_CASE("the search splits keys where one packed sequence may end the call") {
  const auto is_split = [](int batch) {
    Kernel kernel = kernel_of(1, 8192, "varlen: true\n", "{q: 32, kv: 8}");
    kernel.workload.front().batch = batch;
    return search(kernel, h100()).ranked.front().schedule.split_keys;
  };
  CHECK(is_split(16));
  CHECK(is_split(64));
  CHECK(!is_split(256));  // eight times the mean is no longer than what each place does
}

TEST_CASE("of a long cache a window is split as of a short one") {
  const auto first = [](int64_t seq_kv) {
    const Kernel kernel = kernel_of(1, seq_kv, "mask: kv_idx <= q_pos and q_pos - kv_idx < 4096\n");
    return search(kernel, h100()).ranked.front();
  };
  const Candidate small = first(8192), large = first(1 << 20);
  CHECK(large.schedule.split_keys);
  // The keys that no query sees are not read.
  CHECK(large.cost.seconds == doctest::Approx(small.cost.seconds).epsilon(0.01));
}

TEST_CASE("eight tiles of many keys are predicted to take much less time by splits") {
  const Kernel kernel = kernel_of(16, 65536);
  Schedule whole = split();
  whole.split_keys = false;
  const auto seconds = [&](const Schedule& s) {
    return judge(kernel, s, h100()).candidate->cost.seconds;
  };
  CHECK(seconds(whole) > 4 * seconds(split()));
}

}  // namespace
}  // namespace attngen::schedule
