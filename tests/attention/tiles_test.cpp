#include "attention/tiles.h"

#include <algorithm>
#include <random>

#include "expr/evaluate.h"
#include "random_mask.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::Data;
using testing::mask_of;
using testing::RandomMask;

struct Lengths {
  int64_t q = 1, kv = 1;
};

double value_of(const expr::Expr& e, const Data& data, const Lengths& lengths, int64_t q_first,
                int64_t q_last, int64_t kv) {
  const auto variable = [&](std::string_view name) -> double {
    if (name == "q_idx" || name == "q_first") return static_cast<double>(q_first);
    if (name == "q_last") return static_cast<double>(q_last);
    if (name == "q_pos") return static_cast<double>(q_first + lengths.kv - lengths.q);
    if (name == "kv_idx") return static_cast<double>(kv);
    if (name == "seq_q") return static_cast<double>(lengths.q);
    if (name == "seq_kv") return static_cast<double>(lengths.kv);
    return data.index(name);
  };
  return expr::evaluate(e, variable, [&](std::string_view input, std::span<const int64_t> at) {
    return data.element(input, at);
  });
}

int64_t limit(const expr::Expr& e, const Data& data, const Lengths& lengths, int64_t first,
              int64_t last) {
  const double value = value_of(e, data, lengths, first, last, 0);
  return std::clamp<int64_t>(static_cast<int64_t>(value), 0, lengths.kv);
}

// What rows first..last have, by evaluating the mask for every pair.
struct Pairs {
  std::vector<bool> any, all;  // by key
};
Pairs pairs_of(const expr::Expr& mask, const Data& data, const Lengths& lengths, int64_t first,
               int64_t last) {
  Pairs pairs{std::vector<bool>(lengths.kv, false), std::vector<bool>(lengths.kv, true)};
  for (int64_t q = first; q <= last; ++q) {
    for (int64_t kv = 0; kv < lengths.kv; ++kv) {
      const bool exists = value_of(mask, data, lengths, q, q, kv) != 0;
      pairs.any[kv] = pairs.any[kv] || exists;
      pairs.all[kv] = pairs.all[kv] && exists;
    }
  }
  return pairs;
}

void check_sound(const KeyRange& range, const expr::Expr& mask, const Data& data,
                 const Lengths& lengths, int64_t first, int64_t last) {
  const Pairs pairs = pairs_of(mask, data, lengths, first, last);
  const int64_t begin = limit(range.begin, data, lengths, first, last);
  const int64_t end = limit(range.end, data, lengths, first, last);
  const int64_t full_begin = limit(range.full_begin, data, lengths, first, last);
  const int64_t full_end = limit(range.full_end, data, lengths, first, last);
  bool sound = true;
  for (int64_t kv = 0; kv < lengths.kv; ++kv) {
    if (pairs.any[kv]) sound = sound && kv >= begin && kv < end;
    if (kv >= full_begin && kv < full_end) sound = sound && pairs.all[kv];
  }
  const bool some = std::find(pairs.any.begin(), pairs.any.end(), true) != pairs.any.end();
  if (!range.may_be_empty && first == last && lengths.kv > 0) sound = sound && some;
  const TileClass tile = classify(mask, {first, last + 1, 0, lengths.kv}, lengths.q, lengths.kv);
  if (tile == TileClass::Empty) sound = sound && !some;
  if (tile == TileClass::Full) {
    sound = sound && std::find(pairs.all.begin(), pairs.all.end(), false) == pairs.all.end();
  }
  if (!sound) {
    FAIL(expr::print(mask) << " rows " << first << ".." << last << " of " << lengths.q << " x "
                           << lengths.kv << ": [" << begin << ", " << end << ") full ["
                           << full_begin << ", " << full_end << ")");
  }
}

// Rows' hull and full stretch, by brute force, must be what the closed forms say.
void check_tight(const expr::Expr& mask) {
  const KeyRange range = key_range(mask);
  for (int prefix : {-3, 0, 4, 9, 40}) {
    Data data(1);
    data.set("prefix", prefix);
    for (const Lengths lengths : {Lengths{12, 12}, {7, 19}, {19, 7}, {1, 30}, {5, 0}}) {
      for (int64_t first = 0; first < lengths.q; ++first) {
        for (int64_t last = first; last < lengths.q; ++last) {
          CAPTURE(expr::print(mask));
          CAPTURE(first);
          CAPTURE(last);
          CAPTURE(lengths.q);
          CAPTURE(lengths.kv);
          CAPTURE(prefix);
          const Pairs pairs = pairs_of(mask, data, lengths, first, last);
          const auto any = std::find(pairs.any.begin(), pairs.any.end(), true);
          const int64_t begin = limit(range.begin, data, lengths, first, last);
          const int64_t end = limit(range.end, data, lengths, first, last);
          if (any == pairs.any.end()) {
            CHECK(begin >= end);
          } else {
            CHECK(begin == any - pairs.any.begin());
            CHECK(end == pairs.any.rend() - std::find(pairs.any.rbegin(), pairs.any.rend(), true));
          }
          const int64_t full = std::count(pairs.all.begin(), pairs.all.end(), true);
          const int64_t full_begin = limit(range.full_begin, data, lengths, first, last);
          const int64_t full_end = limit(range.full_end, data, lengths, first, last);
          CHECK(std::max<int64_t>(0, full_end - full_begin) == full);
        }
      }
    }
  }
}

std::string printed(const std::string& mask) {
  const KeyRange range = key_range(mask_of(mask));
  return expr::print(range.begin) + " .. " + expr::print(range.end) + " full " +
         expr::print(range.full_begin) + " .. " + expr::print(range.full_end);
}

TEST_CASE("key ranges read as one would write them") {
  CHECK(printed("true") == "0 .. seq_kv full 0 .. seq_kv");
  CHECK(printed("kv_idx <= q_pos") ==
        "0 .. q_last + seq_kv - seq_q + 1 full 0 .. q_first + seq_kv - seq_q + 1");
  CHECK(printed("kv_idx <= q_pos and q_pos - kv_idx < window") ==
        "q_first + seq_kv - seq_q - 4 .. q_last + seq_kv - seq_q + 1 full "
        "q_last + seq_kv - seq_q - 4 .. q_first + seq_kv - seq_q + 1");
  CHECK(printed("kv_idx < prefix[b] or kv_idx <= q_pos") ==
        "0 .. max(prefix[b], q_last + seq_kv - seq_q + 1) full "
        "0 .. max(prefix[b], q_first + seq_kv - seq_q + 1)");
  CHECK(printed("doc_id[b, q_idx] == doc_id[b, kv_idx]") == "0 .. seq_kv full 0 .. 0");
  CHECK(printed("q_pos // 8 == kv_idx // 8") ==
        "(q_first + seq_kv - seq_q) // 8 * 8 .. (q_last + seq_kv - seq_q) // 8 * 8 + 8 full "
        "(q_last + seq_kv - seq_q) // 8 * 8 .. (q_first + seq_kv - seq_q) // 8 * 8 + 8");
  CHECK(printed("h < 2 or kv_idx <= q_pos") ==
        "0 .. seq_kv if h < 2 else q_last + seq_kv - seq_q + 1 full "
        "0 .. seq_kv if h < 2 else q_first + seq_kv - seq_q + 1");
}

TEST_CASE("key ranges of the usual masks are tight") {
  for (const char* mask :
       {"kv_idx <= q_pos", "kv_idx < q_pos", "kv_idx <= q_idx", "q_pos - kv_idx < window",
        "kv_idx <= q_pos and q_pos - kv_idx < window", "abs(q_pos - kv_idx) < window",
        "abs(kv_idx - q_pos) <= 3", "q_pos - kv_idx < window and kv_idx - q_pos < 2",
        "kv_idx < prefix[b] or kv_idx <= q_pos", "kv_idx < max(prefix[b], q_pos + 1)",
        "not (kv_idx > q_pos)", "not (kv_idx > q_pos or q_pos - kv_idx >= window)",
        "kv_idx // 4 <= q_pos // 4", "kv_idx + 2 * q_idx >= q_pos + q_idx", "kv_idx < prefix[b]",
        "kv_idx <= q_pos if h == 0 else q_pos - kv_idx < window", "true", "false"}) {
    check_tight(mask_of(mask));
  }
}

TEST_CASE("key ranges and tile classes of random masks are sound") {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    CAPTURE(seed);
    RandomMask random(seed);
    const expr::Expr mask = random.mask(4);
    const KeyRange range = key_range(mask);
    for (int problem = 0; problem < 3; ++problem) {
      const Data data(random.next());
      const Lengths lengths{1 + static_cast<int64_t>(random.next() % 12),
                            static_cast<int64_t>(random.next() % 14)};
      const auto first = static_cast<int64_t>(random.next() % lengths.q);
      const auto last = first + static_cast<int64_t>(random.next() % (lengths.q - first));
      check_sound(range, mask, data, lengths, first, last);
    }
  }
}

TEST_CASE("masks that nest beyond reason bound nothing, and soon") {
  std::string condition = "kv_idx < q_pos";
  for (int depth = 0; depth < 60; ++depth) {
    condition = "(h > 0 if " + condition + " else q_pos < 4)";
  }
  const KeyRange range = key_range(mask_of("'" + condition + "'"));
  CHECK(range.may_be_empty);
}

TEST_CASE("rows that surely have a key") {
  CHECK_FALSE(key_range(mask_of("true")).may_be_empty);
  CHECK(key_range(mask_of("true")).always_full);
  CHECK_FALSE(key_range(mask_of("kv_idx <= q_idx")).may_be_empty);
  CHECK_FALSE(key_range(mask_of("kv_idx < 4 or kv_idx <= q_pos")).may_be_empty);
  CHECK(key_range(mask_of("kv_idx <= q_pos")).may_be_empty);  // seq_q may exceed seq_kv
  CHECK(key_range(mask_of("kv_idx < prefix[b]")).may_be_empty);
}

TEST_CASE("tile classes") {
  const expr::Expr causal = mask_of("kv_idx <= q_pos");
  CHECK(classify(causal, {0, 64, 64, 128}, 256, 256) == TileClass::Empty);
  CHECK(classify(causal, {64, 128, 0, 64}, 256, 256) == TileClass::Full);
  CHECK(classify(causal, {64, 128, 64, 128}, 256, 256) == TileClass::Partial);
  // Keys beyond seq_kv do not exist.
  CHECK(classify(mask_of("true"), {0, 64, 64, 128}, 256, 100) == TileClass::Partial);
  CHECK(classify(mask_of("true"), {0, 64, 128, 192}, 256, 100) == TileClass::Empty);
  CHECK(classify(mask_of("true"), {192, 320, 0, 64}, 256, 100) == TileClass::Full);
}

TEST_CASE("tiles of a causal mask") {
  const TileCounts square = count_tiles(key_range(mask_of("kv_idx <= q_pos")), 512, 512, 128, 128);
  CHECK(square.rows == 4);
  CHECK(square.partial == 4);
  CHECK(square.full == 0 + 1 + 2 + 3);
  CHECK(square.longest == 4);
  const TileCounts ragged = count_tiles(key_range(mask_of("true")), 130, 200, 128, 64);
  CHECK(ragged.rows == 2);
  CHECK(ragged.full == 2 * 3);
  CHECK(ragged.partial == 2);  // keys 192..199
  // The prefix is unknown here: every key may be needed.
  const TileCounts prefix =
      count_tiles(key_range(mask_of("kv_idx < prefix[b] or kv_idx <= q_pos")), 256, 256, 128, 128);
  CHECK(prefix.full + prefix.partial == 4);
  CHECK(prefix.full == 1);
}

}  // namespace
}  // namespace attngen::attention
