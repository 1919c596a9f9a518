#include "schedule/rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/given.h"
#include "kernels.h"
#include "schedule/workload_rows.h"

namespace attngen::schedule {
namespace {

struct MaskCase {
  const char* text;
  bool (*holds)(int64_t q_idx, int64_t kv_idx, int64_t q_pos);
};

// By looking at every pair. Full: all keys of the block exist, and all its pairs.
RowBlocks count_blocks(const MaskCase& mask, int64_t seq_q, int64_t seq_kv, int tile_q,
                       int tile_kv) {
  RowBlocks counts;
  for (int64_t q_first = 0; q_first < seq_q; q_first += tile_q) {
    const int64_t q_end = std::min(q_first + tile_q, seq_q);
    for (int64_t kv_first = 0; kv_first < seq_kv; kv_first += tile_kv) {
      int64_t pairs = 0;
      for (int64_t q = q_first; q < q_end; ++q) {
        for (int64_t kv = kv_first; kv < std::min(kv_first + tile_kv, seq_kv); ++kv) {
          pairs += mask.holds(q, kv, q + seq_kv - seq_q) ? 1 : 0;
        }
      }
      const bool full = pairs == (q_end - q_first) * tile_kv;
      (full ? counts.full : counts.partial) += pairs > 0 ? 1 : 0;
    }
  }
  return counts;
}

TEST_CASE("rows add up to the blocks that hold a pair") {
  const MaskCase masks[] = {
      {"true", [](int64_t, int64_t, int64_t) { return true; }},
      {"kv_idx <= q_pos", [](int64_t, int64_t kv, int64_t pos) { return kv <= pos; }},
      {"kv_idx <= q_pos and q_pos - kv_idx < 90",
       [](int64_t, int64_t kv, int64_t pos) { return kv <= pos && pos - kv < 90; }},
      {"kv_idx < 100", [](int64_t, int64_t kv, int64_t) { return kv < 100; }},
      {"(kv_idx + q_idx) % 2 == 0",
       [](int64_t q, int64_t kv, int64_t) { return (kv + q) % 2 == 0; }}};
  for (const MaskCase& mask : masks) {
    const attention::KeyRange range = attention::key_range(parse_mask(mask.text), {});
    for (const auto& lengths : {std::pair{200, 300}, {300, 200}, {64, 500}, {2, 7}}) {
      const int seq_q = lengths.first, seq_kv = lengths.second;
      for (const int tile_q : {64, 128, 192}) {
        for (const int tile_kv : {64, 80, 128}) {
          CAPTURE(mask.text);
          CAPTURE(seq_q);
          CAPTURE(seq_kv);
          CAPTURE(tile_q);
          CAPTURE(tile_kv);
          const RowBlocks expected = count_blocks(mask, seq_q, seq_kv, tile_q, tile_kv);
          const TileRows rows = tile_rows(range, seq_q, seq_kv, tile_q, 256);
          CHECK(rows.count == (seq_q + tile_q - 1) / tile_q);
          double full = 0, partial = 0;
          for (const RowKeys& keys : rows.keys) {
            const RowBlocks blocks = blocks_of(keys, tile_kv);
            full += static_cast<double>(blocks.full) * rows.stride;
            partial += static_cast<double>(blocks.partial) * rows.stride;
          }
          CHECK(full == static_cast<double>(expected.full));
          CHECK(partial == static_cast<double>(expected.partial));
        }
      }
    }
  }
}

TEST_CASE("each of the heads whose masks differ has rows") {
  const attention::KeyRange range =
      attention::key_range(parse_mask("kv_idx < (900 if h < 4 else 100) + h_kv"), {});
  for (const int64_t seq_q : {1, 200, 1000}) {
    CAPTURE(seq_q);
    const TileRows rows = tile_rows(range, seq_q, 1000, 1, 16, 1, {16, 4});
    CHECK(rows.keys.size() == 16);
    double keys = 0;
    for (const RowKeys& of_row : rows.keys) {
      keys += static_cast<double>(of_row.end - of_row.begin) * rows.stride;
    }
    const double of_query = (4 * 900 + 12 * 100 + 4 * (0 + 1 + 2 + 3)) / 16.0;
    CHECK(keys == doctest::Approx(of_query * static_cast<double>(seq_q)));
    CHECK(uneven(rows));
    CHECK_FALSE(uneven(tile_rows(range, seq_q, 1000, 1, 16)));
  }
}

TEST_CASE("how far apart the keys of tiles are") {
  const auto spread = [](const char* mask, int64_t seq_q, int64_t seq_kv) {
    return spread_of(
        tile_rows(attention::key_range(parse_mask(mask), {}), seq_q, seq_kv, 128, 1000));
  };
  CHECK(spread("true", 4096, 4096) == 0);
  CHECK(spread("kv_idx < 300", 4096, 4096) == 0);
  CHECK(spread("kv_idx <= q_pos", 4096, 4096) == doctest::Approx(1 - 128.0 / 4096));
  CHECK(spread("kv_idx <= q_pos", 512, 32768) == doctest::Approx(384.0 / 32768));
  CHECK(spread("kv_idx <= q_pos and q_pos - kv_idx < 256", 4096, 4096) == 1);
}

TEST_CASE("lengths that a call brings leave half of the keys") {
  const auto keys = [&](const std::string& lines) {
    const Kernel kernel = read_kernel(
        "heads: {q: 8, kv: 8}\n"
        "inputs: {from: {dtype: i32, shape: [batch]}, to: {dtype: i32, shape: [batch]}}\n" +
        lines);
    return tile_rows(kernel.range, 64, 1000, 64, 16).keys.front();
  };
  CHECK(keys("mask: kv_idx < to[b]\n").end == 500);
  CHECK(keys("mask: kv_idx >= from[b]\n").begin == 500);
  CHECK(keys("mask: from[b] <= kv_idx and kv_idx < to[b]\n") == RowKeys{250, 750, 250, 750});
  // Half of them leaves none, or no row.
  CHECK(keys("mask: kv_idx >= 3 * from[b]\n").begin == 0);
  CHECK(keys("mask: kv_idx < to[b] - 600\n").end == 400);
  CHECK(keys("mask: 4 * from[b] <= kv_idx and kv_idx < to[b]\n") == RowKeys{0, 750, 0, 750});
  CHECK(keys("mask: from[b] <= kv_idx and kv_idx < to[b] - 800\n") == RowKeys{0, 200, 0, 200});
  CHECK(keys("mask: kv_idx - q_idx >= 2 * from[b]\n").begin == 0);
  // One row is enough: the last ones have keys.
  CHECK(keys("mask: from[b] - 460 <= q_idx and kv_idx >= from[b]\n").begin == 500);
  // Empty, whatever lengths are.
  CHECK(keys("mask: kv_idx >= seq_kv + from[b]\n") == RowKeys{1000, 1000, 1000, 1000});
}

TEST_CASE("a value of the workload stands in the place of an input") {
  const auto in_words = [](const std::string& mask, const std::string& values) {
    return read_kernel(
        "heads: {q: 8, kv: 8}\n"
        "inputs: {n: {dtype: i32, shape: []}, to: {dtype: i32, shape: [batch]},\n"
        "         doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}}\n"
        "workload: {seq_q: 1000, values: {" +
        values + "}}\nmask: " + mask + "\n");
  };
  const auto in_numbers = [](const std::string& mask) {
    return read_kernel("heads: {q: 8, kv: 8}\nworkload: {seq_q: 1000}\nmask: " + mask + "\n");
  };
  struct Pair {
    std::string words, values, numbers;
  };
  for (const Pair& pair :
       {Pair{"kv_idx <= q_pos and q_pos - kv_idx < n", "n: 100",
             "kv_idx <= q_pos and q_pos - kv_idx < 100"},
        {"kv_idx // n <= q_pos // n and kv_idx < to[b]", "n: 60, to: 700",
         "kv_idx // 60 <= q_pos // 60 and kv_idx < 700"},
        {"doc[b, q_pos] == doc[b, kv_idx]", "doc: 100", "q_pos // 100 == kv_idx // 100"},
        {"doc[b, kv_idx] + 2 > doc[b, q_pos] and kv_idx <= q_pos", "doc: 30",
         "kv_idx // 30 + 2 > q_pos // 30 and kv_idx <= q_pos"},
        {"n % 2 == 0 or q_pos - kv_idx < 20", "n: 3", "q_pos - kv_idx < 20"},
        {"(q_pos // 64 - kv_idx // 64) % 4 == 0 and q_pos - kv_idx < n", "n: 300",
         "(q_pos // 64 - kv_idx // 64) % 4 == 0 and q_pos - kv_idx < 300"}}) {
    CAPTURE(pair.words);
    const Kernel words = in_words(pair.words, pair.values), numbers = in_numbers(pair.numbers);
    const spec::Values& values = words.workload.front().values;
    const auto rows_of = [](const attention::KeyRange& range) {
      return tile_rows(range, 1000, 1000, 64, 100);
    };
    const TileRows found = rows_of(attention::given(words.range, values));
    const TileRows expected = rows_of(numbers.range);
    for (size_t i = 0; i < expected.keys.size(); ++i) {
      CHECK(found.keys[i].begin == expected.keys[i].begin);
      CHECK(found.keys[i].end == expected.keys[i].end);
    }
    CHECK(words.row_order.span == numbers.row_order.span);
    const target::Target& h200 = *target::find("h200");
    const auto flop = [&](const Kernel& kernel) {
      const Cost cost = search(kernel, h200).ranked.front().cost;
      return cost.flop_per_s * cost.seconds;
    };
    CHECK(flop(words) == doctest::Approx(flop(numbers)).epsilon(1e-6));
  }
}

TEST_CASE("of very many rows a sample stands for all") {
  const attention::KeyRange range = attention::key_range(parse_mask("kv_idx <= q_pos"), {});
  const int64_t seq = 1'000'000;
  const TileRows rows = tile_rows(range, seq, seq, 64, 256);
  CHECK(rows.count == 15625);
  CHECK(rows.keys.size() == 256);
  double blocks = 0;
  for (const RowKeys& keys : rows.keys) {
    const RowBlocks b = blocks_of(keys, 128);
    blocks += static_cast<double>(b.full + b.partial) * rows.stride;
  }
  double expected = 0;
  for (int64_t q_end = 64; q_end <= seq; q_end += 64) {
    expected += std::ceil(static_cast<double>(q_end) / 128);
  }
  CHECK(blocks == doctest::Approx(expected).epsilon(0.01));
}

TEST_CASE("a workload's rows are those of its points") {
  const attention::KeyRange range =
      attention::key_range(parse_mask("kv_idx <= q_pos and q_pos - kv_idx < 90"), {});
  const std::vector<spec::Workload> points{{1, 90, 90, 1}, {1, 700, 900, 1}};
  const WorkloadRows rows(range, points, 4, 16);
  for (const size_t point : {size_t{1}, size_t{0}, size_t{1}}) {
    for (const int parts : {1, 3, 4}) {
      const spec::Workload& w = points[point];
      const TileRows expected = tile_rows(range, w.seq_q, w.seq_kv, 16 * parts, 4, 16);
      const TileRows& found = rows.of(masked_call(w), parts);
      CHECK(found.first == expected.first);
      CHECK(found.keys == expected.keys);
      CHECK(found.parts == expected.parts);
      CHECK(found.parts.size() == found.keys.size() * static_cast<size_t>(parts));
    }
  }
  CHECK(rows.uneven());
  const attention::KeyRange all = attention::key_range(parse_mask("true"), {});
  CHECK_FALSE(WorkloadRows(all, points, 4, 16).uneven());
  CHECK_FALSE(WorkloadRows(range, {}, 4, 16).uneven());
}

}  // namespace
}  // namespace attngen::schedule
