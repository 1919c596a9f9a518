#include "attention/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "attention/interval_mask.h"
#include "random_mask.h"
#include "support.h"
#include "visits.h"

namespace attngen::attention {
namespace {

using testing::check_least;
using testing::Data;
using testing::Lengths;
using testing::Limits;
using testing::mask_of;
using testing::needed;
using testing::Numbers;
using testing::Pairs;
using testing::RandomMask;
using testing::Subject;
using testing::Visits;
using testing::visits;

// Of rows first..last; `pairs` are those of the whole call.
void check_sound(const Subject& subject, const Pairs& pairs, const Data& data,
                 const Lengths& lengths, int64_t first, int64_t last) {
  const Limits limits = subject.ranges.of(data, lengths, first, last);
  bool sound = true;
  for (int64_t kv = 0; kv < lengths.kv; ++kv) {
    const int64_t rows = pairs.rows_with(kv, first, last);
    const bool full = rows == last - first + 1;
    if (rows > 0) sound = sound && kv >= limits.begin && kv < limits.end;
    if (kv >= limits.full_begin && kv < limits.full_end) sound = sound && full;
  }
  for (const int64_t tile_kv : {1, 3, 4}) {
    const Visits visited = visits(subject, data, lengths, first, last, tile_kv);
    const Visits least = needed(pairs, lengths, first, last, tile_kv);
    for (size_t block = 0; block < visited.kept.size(); ++block) {
      sound = sound && (visited.kept[block] || !least.kept[block]);
      // What is not visited may claim anything.
      sound = sound && (!visited.kept[block] || !visited.full[block] || least.full[block]);
    }
  }
  if (!sound) {
    FAIL(expr::print(subject.mask)
         << " rows " << first << ".." << last << " of " << lengths.q << " x " << lengths.kv << ": ["
         << limits.begin << ", " << limits.end << ") full [" << limits.full_begin << ", "
         << limits.full_end << ")");
  }
}

// Rows' hull and full stretch, by brute force, must be what the closed forms say.
void check_tight(const expr::Expr& mask) {
  CAPTURE(expr::print(mask));
  const Subject subject(mask);
  for (int prefix : {-3, 0, 4, 9, 40}) {
    Data data(1);
    data.set("prefix", prefix);
    for (const Lengths lengths : {Lengths{12, 12}, {7, 19}, {19, 7}, {1, 30}, {5, 0}}) {
      const Pairs pairs(subject.function, data, lengths);
      for (int64_t first = 0; first < lengths.q; ++first) {
        for (int64_t last = first; last < lengths.q; ++last) {
          CAPTURE(first);
          CAPTURE(last);
          CAPTURE(lengths.q);
          CAPTURE(lengths.kv);
          CAPTURE(prefix);
          int64_t begin = lengths.kv;
          int64_t end = 0;
          int64_t full = 0;
          for (int64_t kv = 0; kv < lengths.kv; ++kv) {
            const int64_t rows = pairs.rows_with(kv, first, last);
            if (rows > 0) {
              begin = std::min(begin, kv);
              end = kv + 1;
            }
            if (rows == last - first + 1) ++full;
          }
          const Limits limits = subject.ranges.of(data, lengths, first, last);
          if (begin >= end) {
            CHECK(limits.begin >= limits.end);
          } else {
            CHECK(limits.begin == begin);
            CHECK(limits.end == end);
          }
          CHECK(std::max<int64_t>(0, limits.full_end - limits.full_begin) == full);
        }
      }
    }
  }
}

KeyRange range_of(const std::string& mask) {
  const spec::Spec spec = testing::spec_of("mask: " + mask + "\n");
  return key_range(spec.mask, spec.inputs);
}

std::string printed(const std::string& mask) {
  const KeyRange range = range_of(mask);
  return expr::print(range.begin) + " .. " + expr::print(range.end) + " full " +
         expr::print(range.full_begin) + " .. " + expr::print(range.full_end);
}

TEST_CASE("key ranges read as one would write them") {
  CHECK(printed("true") == "0 .. seq_kv full 0 .. seq_kv");
  CHECK(printed("kv_idx <= q_pos") ==
        "0 .. q_last + (seq_kv - seq_q) + 1 full 0 .. q_first + (seq_kv - seq_q) + 1");
  CHECK(printed("kv_idx <= q_pos and q_pos - kv_idx < window") ==
        "q_first + (seq_kv - seq_q) - 4 .. q_last + (seq_kv - seq_q) + 1 full "
        "q_last + (seq_kv - seq_q) - 4 .. q_first + (seq_kv - seq_q) + 1");
  CHECK(printed("kv_idx < prefix[b] or kv_idx <= q_pos") ==
        "0 .. max(prefix[b], q_last + (seq_kv - seq_q) + 1) full "
        "0 .. max(prefix[b], q_first + (seq_kv - seq_q) + 1)");
  CHECK(printed("page[b, q_idx] == page[b, kv_idx]") == "0 .. seq_kv full 0 .. 0");
  CHECK(printed("doc_id[b, q_pos] == doc_id[b, kv_idx]") ==
        "doc_id.below[b, doc_id[b, q_first + (seq_kv - seq_q)]] .. "
        "doc_id.up_to[b, doc_id[b, q_last + (seq_kv - seq_q)]] full "
        "doc_id.below[b, doc_id[b, q_last + (seq_kv - seq_q)]] .. "
        "doc_id.up_to[b, doc_id[b, q_first + (seq_kv - seq_q)]]");
  // Clamped, an index beyond the keys would be none of a stretch.
  CHECK(printed("doc_id[b, kv_idx - 1] <= 3") == "0 .. seq_kv full 0 .. 0");
  CHECK(printed("q_pos // 8 == kv_idx // 8") ==
        "(q_first + (seq_kv - seq_q)) // 8 * 8 .. (q_last + (seq_kv - seq_q)) // 8 * 8 + 8 full "
        "(q_last + (seq_kv - seq_q)) // 8 * 8 .. (q_first + (seq_kv - seq_q)) // 8 * 8 + 8");
  CHECK(printed("h < 2 or kv_idx <= q_pos") ==
        "0 .. seq_kv if h < 2 else q_last + (seq_kv - seq_q) + 1 full "
        "0 .. seq_kv if h < 2 else q_first + (seq_kv - seq_q) + 1");
}

TEST_CASE("a multiple of the key bounds as the quotient of what it is compared with") {
  const std::string quotient = printed("kv_idx <= (q_pos - 31) // 16");
  CHECK(quotient ==
        "0 .. (q_last + (seq_kv - seq_q) - 31) // 16 + 1 full "
        "0 .. (q_first + (seq_kv - seq_q) - 31) // 16 + 1");
  CHECK(printed("16 * kv_idx + 31 <= q_pos") == quotient);
  CHECK(printed("16 * kv_idx < q_pos - 30") == quotient);
  CHECK(printed("not (-16 * kv_idx < 31 - q_pos)") == quotient);
  CHECK(printed("q_pos - kv_idx * 4 * 4 >= 31") == quotient);
  CHECK(printed("16 * kv_idx >= q_pos") == printed("kv_idx >= (q_pos + 15) // 16"));
  CHECK(printed("16 * kv_idx >= q_pos") ==
        "(q_first + (seq_kv - seq_q) + 15) // 16 .. seq_kv full "
        "(q_last + (seq_kv - seq_q) + 15) // 16 .. seq_kv");
  // What divides needs no quotient.
  CHECK(printed("4 * kv_idx <= 8 * q_idx + 7") == printed("kv_idx <= 2 * q_idx + 1"));
  CHECK(printed("3 * kv_idx + 3 * q_idx < 3 * seq_q") == printed("kv_idx < seq_q - q_idx"));
  CHECK(printed("2 * (kv_idx // 8) <= q_pos") == printed("kv_idx // 8 <= q_pos // 2"));
  CHECK(printed("2 * doc_id[b, kv_idx] <= q_idx") == printed("doc_id[b, kv_idx] <= q_idx // 2"));
  CHECK(printed("4 * kv_idx == q_idx") ==
        "(q_first + 3) // 4 .. q_last // 4 + 1 full (q_last + 3) // 4 .. q_first // 4 + 1");
  // Two inputs may differ by more than 32 bits hold: no quotient is of their difference.
  CHECK(printed("kv_idx * 8 + chunk[b, 0] <= q_idx * 8 + prefix[b]") ==
        "0 .. saturate(q_last + prefix[b] // 8 + (prefix[b] % 8 - chunk[b, 0] % 8) // 8 - "
        "chunk[b, 0] // 8 + 1) full "
        "0 .. saturate(q_first + prefix[b] // 8 + (prefix[b] % 8 - chunk[b, 0] % 8) // 8 - "
        "chunk[b, 0] // 8 + 1)");
  // Nor of indices, where they are scaled.
  CHECK(expr::print(range_of("2 * kv_idx <= 3 * q_idx + 5").end) ==
        "saturate(q_last // 2 * 3 + (q_last % 2 * 3 + 1) // 2 + 3)");
}

TEST_CASE("what a mask asks of rows leaves keys to those that meet it") {
  CHECK(printed("q_idx < prefix[b]") ==
        "0 .. seq_kv if q_first < prefix[b] else 0 full 0 .. seq_kv if q_last < prefix[b] else 0");
  CHECK(printed("kv_idx <= q_idx and q_idx < prefix[b]") ==
        "0 .. q_last + 1 if q_first < prefix[b] else 0 full "
        "0 .. q_first + 1 if q_last < prefix[b] else 0");
  CHECK(printed("kv_idx <= q_idx or q_idx >= 9") ==
        "0 .. seq_kv if 9 <= q_last else q_last + 1 full "
        "0 .. seq_kv if 9 <= q_first else q_first + 1");
  // A choice in a comparison: of a tile with rows of both kinds, what either may need.
  CHECK(printed("kv_idx >= (q_idx - 3 if q_idx < 9 else q_idx - 20)") ==
        "q_first - 3 if q_last < 9 else min(q_first - 3, q_first - 20) if q_first < 9 else "
        "q_first - 20 .. seq_kv full "
        "q_last - 3 if q_last < 9 else max(q_last - 3, q_last - 20) if q_first < 9 else "
        "q_last - 20 .. seq_kv");
  const auto is_interval = [](const char* mask) { return is_interval_mask(range_of(mask)); };
  CHECK(is_interval("kv_idx <= q_idx and q_idx < prefix[b]"));
  CHECK(is_interval("kv_idx <= q_pos and q_pos - kv_idx < (4 if q_pos < 9 else 7)"));
  CHECK(is_interval("kv_idx // 4 == (q_idx // 2 if q_idx < 8 else (q_idx - 8) // 4)"));
  // Of data in no order rows say nothing.
  CHECK(printed("kv_idx <= q_idx and page[b, q_idx] < 3") == "0 .. q_last + 1 full 0 .. 0");
}

TEST_CASE("a frame's size at run time bounds where it is positive") {
  CHECK(printed("kv_idx // prefix[b] == q_pos // prefix[b]") ==
        "saturate((q_first + (seq_kv - seq_q)) // max(prefix[b], 1) * max(prefix[b], 1)) "
        "if 0 < prefix[b] else 0 .. "
        "saturate(((q_last + (seq_kv - seq_q)) // max(prefix[b], 1) + 1) * max(prefix[b], 1)) "
        "if 0 < prefix[b] else seq_kv full "
        "saturate((q_last + (seq_kv - seq_q)) // max(prefix[b], 1) * max(prefix[b], 1)) "
        "if 0 < prefix[b] else 0 .. "
        "saturate(((q_first + (seq_kv - seq_q)) // max(prefix[b], 1) + 1) * max(prefix[b], 1)) "
        "if 0 < prefix[b] else 0");
  const auto end_of = [](const char* mask) { return expr::print(range_of(mask).end); };
  CHECK(end_of("kv_idx < (q_idx // prefix[b] + 1) * prefix[b]") ==
        "(q_last // max(prefix[b], 1) + 1) * max(prefix[b], 1) if 0 < prefix[b] else seq_kv");
  CHECK(end_of("kv_idx < q_idx - q_idx % prefix[b] + prefix[b]") ==
        "saturate(max(prefix[b], 1) + q_last // max(prefix[b], 1) * max(prefix[b], 1)) "
        "if 0 < prefix[b] else seq_kv");
  CHECK(end_of("kv_idx * prefix[b] <= q_idx") ==
        "q_last // max(prefix[b], 1) + 1 if 0 < prefix[b] else seq_kv");
  // What else bounds the keys does so whatever the sign.
  CHECK(end_of("kv_idx // prefix[b] <= q_idx // prefix[b] and kv_idx < 99") ==
        "min(saturate((q_last // max(prefix[b], 1) + 1) * max(prefix[b], 1)), 99) "
        "if 0 < prefix[b] else 99");
  // Of frames to the left, as many as the call says, the difference saturates before the product.
  const auto begin_of = [](const char* mask) { return expr::print(range_of(mask).begin); };
  CHECK(begin_of("kv_idx // level[b] >= q_idx // level[b] - prefix[b]") ==
        "saturate(saturate(q_first // max(level[b], 1) - prefix[b]) * max(level[b], 1)) "
        "if 0 < level[b] else 0");
  CHECK(begin_of(
            "prefix[b] < 0 or kv_idx // (level[b] + 1) >= q_idx // (level[b] + 1) - prefix[b]") ==
        "0 if prefix[b] < 0 else "
        "saturate(saturate(q_first // (level[b] + 1) - prefix[b]) * (level[b] + 1))");
  // Of one that is proven to be positive nothing is asked.
  CHECK(end_of("kv_idx <= q_idx // (level[b] + 1)") == "q_last // (level[b] + 1) + 1");
  CHECK(end_of("kv_idx < q_idx - q_idx % 50 + 50") == "q_last // 50 * 50 + 50");
  // A row's own remainder is in no order.
  CHECK(end_of("kv_idx < q_idx % 50") == "seq_kv");
  // An index beyond 32 bits may be where a product saturates.
  CHECK(end_of("(kv_idx + chunk[b, 0]) // max(prefix[b], 1) <= 3") == "seq_kv");
}

TEST_CASE("ends that may leave 32 bits saturate") {
  const auto end_of = [](const char* mask) { return expr::print(range_of(mask).end); };
  CHECK(printed("kv_idx <= prefix[b]") ==
        "0 .. saturate(prefix[b] + 1) full 0 .. saturate(prefix[b] + 1)");
  CHECK(end_of("kv_idx < prefix[b]") == "prefix[b]");
  CHECK(end_of("kv_idx - where(weight[b, 0] > 3.0e9, 2147483000, 0) < q_idx") ==
        "saturate((2147483000 if weight[b, 0] > 3000000000.0 else 0) + q_last)");
  CHECK(end_of("kv_idx // 64 <= prefix[b]") == "saturate(prefix[b] * 64 + 64)");
  CHECK(end_of("kv_idx // 10 <= prefix[b] - 107374182") == "saturate(prefix[b] * 10 - 1073741810)");
  CHECK(end_of("kv_idx - chunk[b, 0] < prefix[b]") == "saturate(chunk[b, 0] + prefix[b])");
  CHECK(expr::print(range_of("q_pos - kv_idx < prefix[b]").begin) ==
        "saturate(q_first + (seq_kv - seq_q) - prefix[b] + 1)");
  // Indices alone, where they are scaled: a length may be almost 2^31.
  CHECK(end_of("kv_idx // 16777216 <= q_idx") == "saturate(q_last * 16777216 + 16777216)");
  CHECK(end_of("kv_idx // 2 <= q_idx") == "saturate(q_last * 2 + 2)");
  CHECK(expr::print(range_of("kv_idx >= 3 * q_idx").begin) == "saturate(q_first * 3)");
  CHECK(end_of("kv_idx // 2 <= q_pos // 2") == "(q_last + (seq_kv - seq_q)) // 2 * 2 + 2");
  CHECK(end_of("kv_idx <= q_pos + 70000") == "saturate(q_last + (seq_kv - seq_q) + 70001)");
  CHECK(end_of("kv_idx // 16777216 <= level[b]") == "saturate(level[b] * 16777216 + 16777216)");
  // Any id may be looked for: no sum of one is.
  CHECK(printed("doc_id[b, kv_idx] < doc_id[b, q_pos]") ==
        "0 .. doc_id.below[b, doc_id[b, q_last + (seq_kv - seq_q)]] full "
        "0 .. doc_id.below[b, doc_id[b, q_first + (seq_kv - seq_q)]]");
  CHECK(expr::print(range_of("doc_id[b, kv_idx] > doc_id[b, q_pos]").begin) ==
        "doc_id.up_to[b, doc_id[b, q_first + (seq_kv - seq_q)]]");
  // Of a sum that may be too large, what is at most it; that may be too small, what is below.
  CHECK(expr::print(range_of("doc_id[b, kv_idx] >= doc_id[b, q_pos] + 3").begin) ==
        "doc_id.up_to[b, saturate(doc_id[b, q_first + (seq_kv - seq_q)] + 2)]");
  CHECK(end_of("doc_id[b, kv_idx] <= doc_id[b, q_pos] - 3") ==
        "doc_id.below[b, saturate(doc_id[b, q_last + (seq_kv - seq_q)] - 2)]");
  // Of one that may be both, a hull and a part.
  CHECK(printed("doc_id[b, kv_idx] <= 2 * prefix[b]") ==
        "0 .. doc_id.up_to[b, saturate(prefix[b] * 2)] full "
        "0 .. doc_id.below[b, saturate(prefix[b] * 2 + 1)]");
}

TEST_CASE("limits are searched for a tile's first and last row alone where both ends rise") {
  CHECK(has_searched_limits(range_of("doc_id[b, q_pos] == doc_id[b, kv_idx]")));
  CHECK(has_searched_limits(range_of("doc_id[b, q_pos] == doc_id[b, kv_idx] and kv_idx <= q_pos")));
  CHECK_FALSE(has_searched_limits(
      range_of("doc_id[b, q_pos] == doc_id[b, kv_idx] and kv_idx + q_pos < 330")));
  CHECK_FALSE(has_searched_limits(range_of("doc_id[b, kv_idx] + doc_id[b, q_pos] >= 26")));
}

TEST_CASE("key ranges of the usual masks are tight") {
  for (const char* mask :
       {"kv_idx <= q_pos", "kv_idx < q_pos", "kv_idx <= q_idx", "q_pos - kv_idx < window",
        "kv_idx <= q_pos and q_pos - kv_idx < window", "abs(q_pos - kv_idx) < window",
        "abs(kv_idx - q_pos) <= 3", "q_pos - kv_idx < window and kv_idx - q_pos < 2",
        "kv_idx < prefix[b] or kv_idx <= q_pos", "kv_idx < max(prefix[b], q_pos + 1)",
        "not (kv_idx > q_pos)", "not (kv_idx > q_pos or q_pos - kv_idx >= window)",
        "kv_idx // 4 <= q_pos // 4", "kv_idx + 2 * q_idx >= q_pos + q_idx", "kv_idx < prefix[b]",
        "kv_idx <= q_pos if h == 0 else q_pos - kv_idx < window", "square(kv_idx - q_pos) < 10",
        "9 >= square(kv_idx - q_pos)", "sign(kv_idx - q_pos) <= 0", "sign(q_pos - kv_idx) == 1",
        "4 * kv_idx + 7 <= q_pos", "not (-4 * kv_idx < 3 - q_pos)",
        "3 * kv_idx >= 2 * q_pos - prefix[b]", "kv_idx * 3 + prefix[b] <= q_idx * 3 + 4",
        "2 * (kv_idx // 2) + q_pos <= 2 * q_pos", "q_pos // 2 >= 3 * (kv_idx // 2)",
        "kv_idx < q_pos - q_pos % 4 + 4",
        // Frames whose size is known at run time.
        "kv_idx // max(prefix[b], 1) <= q_pos // max(prefix[b], 1)",
        "q_pos // (abs(prefix[b]) + 1) - kv_idx // (abs(prefix[b]) + 1) < 2",
        "kv_idx // max(prefix[b], 1) == q_pos // max(prefix[b], 1)",
        "kv_idx < (q_pos // max(prefix[b], 1) + 1) * max(prefix[b], 1)",
        "kv_idx >= q_pos - q_pos % max(prefix[b], 1)",
        "kv_idx // (level[b] + 1) >= q_pos // (level[b] + 1) - prefix[b]",
        "prefix[b] < 3 or kv_idx // (level[b] + 1) >= q_pos // (level[b] + 1) - prefix[b]",
        "(kv_idx - q_idx) // max(prefix[b], 1) <= 1", "max(prefix[b], 1) * kv_idx <= q_pos",
        "kv_idx * max(prefix[b], 1) + 3 > q_idx", "(kv_idx <= q_pos) == (h < 7)",
        "(kv_idx < q_pos) != (h > 7)", "true"}) {
    check_tight(mask_of(mask));
  }
  check_tight(expr::boolean(false));  // of no spec: it would be refused
}

TEST_CASE("no block without a pair is visited, no full one tested") {
  for (const char* mask :
       {"true", "kv_idx <= q_pos", "kv_idx <= q_pos and q_pos - kv_idx < window",
        "abs(q_pos - kv_idx) <= 3", "kv_idx <= q_pos or kv_idx < prefix[b]", "kv_idx < prefix[b]",
        "not (kv_idx > q_pos)", "kv_idx // 4 <= q_pos // 4",
        // Ids in order: a search finds the ends.
        "span[b, q_pos] == span[b, kv_idx]",
        "span[b, q_pos] == span[b, kv_idx] and kv_idx <= q_pos",
        "span[b, q_idx] >= span[b, kv_idx]", "span[b, kv_idx] < 2",
        "2 * span[b, kv_idx] <= span[b, q_idx] + 1", "3 * kv_idx + 2 <= q_pos",
        "4 * kv_idx == q_pos - prefix[b]",
        // Gaps: block by block.
        "kv_idx <= q_pos and (kv_idx < prefix[b] or q_pos - kv_idx < window)",
        "kv_idx < prefix[b] or q_pos - kv_idx < window", "kv_idx < 3 or kv_idx > 20",
        "(q_pos // 4 - kv_idx // 4) % 3 == 0 and kv_idx <= q_pos",
        "not (q_pos // 4 == kv_idx // 4)", "kv_idx // 4 % 2 == 1", "q_idx % 20 == kv_idx % 20",
        "(q_idx + 7) % 20 == (kv_idx - seq_q) % 20", "not (abs(q_pos - kv_idx) <= 3)",
        // Operators that bound blocks alone.
        "square(q_pos - kv_idx) >= 10", "(q_pos - kv_idx) * (q_pos - kv_idx) <= 16",
        "sqrt(abs(kv_idx - q_pos)) < 2", "sign(kv_idx - q_pos) != 0",
        "(q_pos - kv_idx) // -4 == -1", "(q_pos - kv_idx) // 4.0 == 1.0",
        "abs(kv_idx - q_pos) / 4 <= 1.5", "int(sqrt(square(kv_idx - q_pos))) > 5",
        "max(kv_idx - 8.5, 0) < 1", "abs(kv_idx - 0.5 * q_pos) <= 3",
        "square(kv_idx - 0.5 * q_pos) < 6", "kv_idx * q_idx <= 20", "0.5 * kv_idx * q_idx > 9",
        "abs(q_pos - kv_idx) * (abs(q_pos - kv_idx) + 1) <= 12",
        // Of rows alone.
        "q_idx < prefix[b]", "kv_idx < 9 and q_idx >= prefix[b]", "kv_idx < 9 or q_idx == 3",
        "(kv_idx - 0.5 * q_pos) * (kv_idx - 0.5 * q_pos) >= 6"}) {
    check_least(mask);
  }
}

TEST_CASE("frames of a size at run time, whatever it is") {
  uint64_t bounded = 0;
  for (const char* mask :
       {"abs(q_pos // prefix[b] - kv_idx // prefix[b]) < 3",
        "kv_idx < (q_pos // prefix[b] + 1) * prefix[b]", "kv_idx >= q_pos - q_pos % prefix[b]",
        "kv_idx * prefix[b] <= q_pos", "not (kv_idx // prefix[b] == q_pos // prefix[b])"}) {
    CAPTURE(mask);
    const Subject subject(mask_of(mask));
    for (int size = -4; size <= 14; ++size) {
      Data data(1);
      data.set("prefix", size);
      for (const Lengths lengths : {Lengths{12, 12}, {7, 19}, {19, 7}}) {
        const Pairs pairs(subject.function, data, lengths);
        for (int64_t first = 0; first < lengths.q; ++first) {
          const int64_t last = std::min(first + 3, lengths.q - 1);
          check_sound(subject, pairs, data, lengths, first, last);
          const Limits limits = subject.ranges.of(data, lengths, first, last);
          bounded += limits.end - limits.begin < lengths.kv ? 1 : 0;
          if (size <= 0) CHECK(limits.end - limits.begin == lengths.kv);
        }
      }
    }
  }
  CHECK(bounded > 1000);
}

TEST_CASE("blocks are tested where there are gaps alone") {
  const auto test_of = [](const std::string& mask) -> std::string {
    const spec::Spec spec = testing::spec_of("mask: " + mask + "\n");
    const auto test = block_test(spec.mask, spec.inputs);
    return test ? expr::print(test->kept) + " full " + expr::print(test->full) : "none";
  };
  CHECK(test_of("kv_idx <= q_pos or kv_idx < prefix[b]") == "none");
  CHECK(test_of("doc_id[b, q_pos] == doc_id[b, kv_idx] and kv_idx <= q_pos") == "none");
  // Ids in no order: a table of the queries, one of the keys.
  CHECK(test_of("page[b, q_pos] == page[b, kv_idx] and kv_idx <= q_pos") ==
        "0.least[q_first] <= 1.greatest[kv_first] and 1.least[kv_first] <= 0.greatest[q_first] and "
        "0.meets.1[q_first, kv_first] full 0.greatest[q_first] <= 1.least[kv_first] and "
        "1.greatest[kv_first] <= 0.least[q_first] and kv_last <= q_first + (seq_kv - seq_q)");
  CHECK(test_of("page[b, q_idx] > 3 and kv_idx <= q_pos") ==
        "3 < 0.greatest[q_first] full 3 < 0.least[q_first] and "
        "kv_last <= q_first + (seq_kv - seq_q)");
  CHECK(test_of("(q_pos - kv_idx) % 4 == 0") == "none");  // some pair in every block
  CHECK(test_of("kv_idx <= q_pos and (kv_idx < prefix[b] or q_pos - kv_idx < window)") ==
        "kv_first < prefix[b] or q_first + (seq_kv - seq_q) - kv_last < 5 full "
        "kv_last <= q_first + (seq_kv - seq_q) and "
        "(kv_last < prefix[b] or q_last + (seq_kv - seq_q) - kv_first < 5)");
  // By more than a device's functions err.
  CHECK(test_of("tanh(kv_idx - 0.5 * q_idx) > 0.5").find("0.001953125") != std::string::npos);
  // One key's id may differ from another's by more than 32 bits hold.
  CHECK(test_of("page[b, kv_idx] - chunk[b, kv_idx] < 64") ==
        "saturate(0.least[kv_first] - 1.greatest[kv_first]) < 64 full "
        "saturate(0.greatest[kv_first] - 1.least[kv_first]) < 64");
  CHECK(test_of("prefix[b] - kv_idx >= kv_idx - 13 or kv_idx > 900") ==
        "saturate(kv_first * 2 - prefix[b] - 13) <= 0 or 900 < kv_last full "
        "saturate(kv_last * 2 - prefix[b] - 13) <= 0 or 900 < kv_first");
}

// The sanitizers take minutes for all; the ordinary build asks for them.
#ifdef ATTNGEN_SANITIZED
constexpr uint64_t kRandomMasks = 100;
#else
constexpr uint64_t kRandomMasks = 10'000;
#endif

TEST_CASE("key ranges and tile classes of random masks are sound") {
  uint64_t with_tables = 0;
  for (uint64_t seed = 1; seed <= kRandomMasks; ++seed) {
    CAPTURE(seed);
    RandomMask random(seed);
    const Subject subject(random.mask(4));
    with_tables += subject.tables > 0 ? 1 : 0;
    for (int problem = 0; problem < 3; ++problem) {
      const Data data(random.next());
      const Lengths lengths{1 + static_cast<int64_t>(random.next() % 12),
                            static_cast<int64_t>(random.next() % 14)};
      const auto first = static_cast<int64_t>(random.next() % lengths.q);
      const auto last = first + static_cast<int64_t>(random.next() % (lengths.q - first));
      check_sound(subject, Pairs(subject.function, data, lengths), data, lengths, first, last);
    }
  }
  CHECK(with_tables > kRandomMasks / 10);
}

TEST_CASE("nor do rounding and infinities decide otherwise of a block than of its pairs") {
  int tested = 0;
  for (const char* mask :
       {"weight[b, kv_idx] * 0.7 / 0.7 > weight[b, q_pos]",
        "weight[b, kv_idx] / 49 * 49 >= weight[b, q_pos]",
        "exp(200 * weight[b, kv_idx]) * exp(-200 * weight[b, q_pos]) > 0.5",
        "not (exp(200 * weight[b, kv_idx]) * exp(-200 * weight[b, q_pos]) > 0.5)",
        "log(exp(200 * weight[b, kv_idx])) < 200 * weight[b, q_pos] + 1",
        "prefix[b] * (weight[b, kv_idx] - weight[b, q_pos]) > -20",
        "not (prefix[b] * (weight[b, kv_idx] - weight[b, q_pos]) > -20)",
        "abs(prefix[b] * (weight[b, kv_idx] - weight[b, q_pos])) < 5",
        "(weight[b, kv_idx] - weight[b, q_pos]) / inf > -1",
        "(weight[b, kv_idx] - weight[b, q_pos]) / weight[b, 0] > -1",
        "0 * (weight[b, kv_idx] - weight[b, q_pos]) > -1",
        // What is a NaN of a pair is none of functions of ends.
        "relu(prefix[b] * (weight[b, kv_idx] - weight[b, q_pos])) < 5",
        "tanh(prefix[b] * (weight[b, kv_idx] - weight[b, q_pos])) < 2",
        "sqrt(weight[b, kv_idx] - weight[b, q_pos]) < 3",
        "not (sqrt(weight[b, kv_idx] - weight[b, q_pos]) < 3)"}) {
    CAPTURE(mask);
    const Subject subject(mask_of(mask));
    tested += subject.kept ? 1 : 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Data data(seed);
      data.set("prefix", static_cast<double>(seed / 4 % 5) - 2);
      const Lengths lengths{6, 13};
      const Pairs pairs(subject.function, data, lengths);
      for (int64_t first = 0; first < lengths.q; ++first) {
        check_sound(subject, pairs, data, lengths, first, std::min(first + 2, lengths.q - 1));
      }
    }
  }
  CHECK(tested == 10);  // of the others nothing is known
}

// In the arithmetic of kernels, of calls in which no pair's own numbers leave 32 bits: how many of
// some random ones are such.
uint64_t check_extremes(const expr::Expr& mask, RandomMask& random, int calls) {
  uint64_t checked = 0;
  for (int call = 0; call < calls; ++call) {
    const Subject subject(mask, Numbers::Extreme);
    const Data data(random.next(), Numbers::Extreme);
    const Lengths lengths{1 + static_cast<int64_t>(random.next() % 6),
                          static_cast<int64_t>(random.next() % 14)};
    const Pairs pairs(subject.function, data, lengths);
    if (subject.function.overflowed()) continue;
    const auto first = static_cast<int64_t>(random.next() % lengths.q);
    const auto last = first + static_cast<int64_t>(random.next() % (lengths.q - first));
    check_sound(subject, pairs, data, lengths, first, last);
    ++checked;
  }
  return checked;
}

TEST_CASE("no number beyond 32 bits makes a kernel pass over a pair, or make one up") {
  for (const char* mask :
       {// Every key's difference is 0 where both ids say that it is none.
        "page[b, kv_idx] - chunk[b, kv_idx] < 64", "abs(page[b, kv_idx] - chunk[b, q_pos]) <= 1",
        "abs(page[b, kv_idx]) > 7 or kv_idx < 2",
        "(0 if chunk[b, kv_idx] < -9 else abs(chunk[b, kv_idx] - 6)) > 0",
        // Terms that move to the other side.
        "prefix[b] - kv_idx >= kv_idx - 13 or kv_idx > 9", "prefix[b] - kv_idx > kv_idx - 2",
        // Multiples: what is divided would be beyond.
        "kv_idx * 8 + page[b, 0] <= q_idx * 8 + prefix[b]", "8 * (kv_idx - q_idx) >= prefix[b]",
        "-3 * kv_idx + prefix[b] <= q_idx * 2 - 1073741823", "3 * span[b, kv_idx] <= prefix[b]",
        "5 * (kv_idx // 2) > prefix[b] - page[b, q_idx % 3]",
        // Frames.
        "kv_idx // prefix[b] <= q_pos // prefix[b]", "kv_idx // prefix[b] > chunk[b, 0]",
        "q_pos // prefix[b] - kv_idx // prefix[b] < 2", "kv_idx // prefix[b] <= chunk[b, 0] - 9",
        "kv_idx < q_pos - q_pos % prefix[b] + prefix[b]", "kv_idx * prefix[b] >= chunk[b, 0]",
        // What is looked for is beyond all ids.
        "span[b, q_pos] - span[b, kv_idx] < -2", "span[b, q_pos] - span[b, kv_idx] > 2",
        "span[b, kv_idx] - prefix[b] <= span[b, q_pos]",
        "span[b, kv_idx] > span[b, q_pos] + prefix[b]",
        // The difference of remainders' numbers.
        "q_idx * 1073741823 % 7 == kv_idx * -1073741823 % 7"}) {
    CAPTURE(mask);
    RandomMask random(1);
    CHECK(check_extremes(mask_of(mask), random, 300) > 10);
  }
}

TEST_CASE("nor does any of random masks") {
  uint64_t checked = 0;
  constexpr uint64_t kMasks = kRandomMasks / 3;
  for (uint64_t seed = 1; seed <= kMasks; ++seed) {
    CAPTURE(seed);
    RandomMask random(seed, Numbers::Extreme);
    checked += check_extremes(random.mask(2), random, 3);
  }
  CHECK(checked > kMasks);
}

TEST_CASE("masks that nest beyond reason bound nothing, and soon") {
  std::string condition = "kv_idx < q_pos";
  for (int depth = 0; depth < 60; ++depth) {
    condition.insert(0, "(h > 0 if ").append(" else q_pos < 4)");
  }
  // What took both branches at each level would take 2^60 steps, and as long a range.
  const KeyRange range = range_of("'" + condition + "'");
  CHECK(expr::count_nodes(range.begin) < 200);
  CHECK(expr::evaluate(range.begin, [](std::string_view) { return 100.0; }) <= 0);
  CHECK(expr::count_nodes(range.end) < 200);
  // By every compiler: the outermost condition is looked at first.
  CHECK(
      expr::print(range.full_end) ==
      "min(min(seq_kv if q_last + (seq_kv - seq_q) < 4 else 0, 0 if h > 0 else seq_kv), seq_kv if "
      "h > 0 else 0)");
}

TEST_CASE("blocks are not asked what takes longer than computing them") {
  const auto windows = [](int count) {
    std::string mask = "false";
    for (int i = 1; i < count; ++i) mask += fmt::format(" or abs(kv_idx - q_idx // {0}) < {0}", i);
    return mask_of(mask);
  };
  CHECK(block_test(windows(10), {}));
  CHECK_FALSE(block_test(windows(100), {}));
}

TEST_CASE("sums of too many terms bound nothing") {
  // A balanced sum: a chain would nest too deeply for the parser.
  const std::function<std::string(int, int)> sum = [&](int first, int last) {
    if (first == last) return fmt::format("q_idx // {}", first);
    const int middle = (first + last) / 2;
    return fmt::format("({} + {})", sum(first, middle), sum(middle + 1, last));
  };
  CHECK_FALSE(printed("kv_idx <= " + sum(2, 60)) == "0 .. seq_kv full 0 .. 0");
  CHECK(printed("kv_idx <= " + sum(2, 70)) == "0 .. seq_kv full 0 .. 0");
  CHECK(printed("kv_idx <= " + sum(2, 2400)) == "0 .. seq_kv full 0 .. 0");
  // Nor does one that may leave 64 bits.
  const std::string two = "kv_idx <= 1000000000 * prefix[b] + 1000000000 * chunk[b, 0]";
  CHECK(printed(two).find("saturate") != std::string::npos);
  CHECK(printed(two + " + 1000000000 * page[b, 0]") == "0 .. seq_kv full 0 .. 0");
}

TEST_CASE("a mask that is true") {
  CHECK(range_of("true").always_full);
  CHECK_FALSE(range_of("kv_idx <= q_idx").always_full);
}

}  // namespace
}  // namespace attngen::attention
