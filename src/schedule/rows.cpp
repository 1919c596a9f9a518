#include "schedule/rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "expr/bound.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

int64_t clamped(double value, int64_t limit) {
  return static_cast<int64_t>(std::clamp(value, 0.0, static_cast<double>(limit)));
}

// Whether some input is itself a limit: a length or a place, no ids in order. Limits share much:
// `seen` is not asked again.
bool has_length(const expr::Expr& limit, std::set<const void*>& seen) {
  if (!seen.insert(limit.identity()).second) return false;
  if (limit.op() == expr::Op::Load) {
    return !limit.name().ends_with(attention::kBelow) && !limit.name().ends_with(attention::kUpTo);
  }
  return std::ranges::any_of(limit.operands(),
                             [&](const expr::Expr& operand) { return has_length(operand, seen); });
}

bool has_length(const expr::Expr& limit) {
  std::set<const void*> seen;
  return has_length(limit, seen);
}

// The keys of one tile after the other.
class KeyFinder {
 public:
  KeyFinder(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv)
      : seq_q_(seq_q),
        seq_kv_(seq_kv),
        begin_(range.begin),
        end_(range.end),
        full_begin_(range.full_begin),
        full_end_(range.full_end) {
    bounds_.variable = [this](std::string_view name) { return variable(name); };
    // Ids in order are taken to be of one document: nobody knows how many there are.
    if (has_lengths_at_both_ends(range)) {
      first_length_ = seq_kv / 4;
      last_length_ = seq_kv - seq_kv / 4;
    }
    bounds_.input = [this](std::string_view name) -> expr::Interval {
      if (name.ends_with(attention::kBelow)) return expr::point(0);
      return expr::point(name.ends_with(attention::kUpTo) ? seq_kv_ : length_);
    };
  }
  KeyFinder(const KeyFinder&) = delete;
  KeyFinder& operator=(const KeyFinder&) = delete;

  // Of this head's mask from here on.
  void set(const Head& head) { head_ = head; }

  RowKeys find(int64_t q_first, int64_t q_last) {
    q_first_ = q_first;
    q_last_ = q_last;
    // A bound that an unknown decides is taken at its widest.
    RowKeys keys;
    length_ = first_length_;
    keys.begin = clamped(begin_.bound(bounds_).low, seq_kv_);
    keys.full_begin = clamped(full_begin_.bound(bounds_).high, seq_kv_);
    length_ = last_length_;
    keys.end = clamped(end_.bound(bounds_).high, seq_kv_);
    keys.full_end = clamped(full_end_.bound(bounds_).low, seq_kv_);
    return keys;
  }

 private:
  expr::Interval variable(std::string_view name) const {
    if (name == "q_first") return expr::point(q_first_);
    if (name == "q_last") return expr::point(q_last_);
    if (name == "seq_q") return expr::point(seq_q_);
    if (name == "seq_kv") return expr::point(seq_kv_);
    if (head_ && name == "h") return expr::point(head_->q);
    if (head_ && name == "h_kv") return expr::point(head_->kv);
    return {};  // and b
  }

  int64_t seq_q_, seq_kv_, q_first_ = 0, q_last_ = 0;
  int64_t first_length_ = seq_kv_ / 2, last_length_ = first_length_, length_ = 0;
  std::optional<Head> head_;
  expr::Bounder begin_, end_, full_begin_, full_end_;
  expr::Bounds bounds_;
};

// How many heads' masks a row is evaluated for: so many that each head has a row, and more as long
// as `most` allows.
int64_t heads_of_each(int64_t rows, int64_t most, int64_t heads) {
  if (rows == 0) return 1;
  return std::clamp(most / rows, (heads + rows - 1) / rows, heads);
}

Head head_in_turn(int64_t i, const MaskHeads& heads) {
  const int head = static_cast<int>(spread_turn(i, heads.count));
  return {head, head / heads.group};
}

// Of a tile, and of each warpgroup's rows of it.
void add_tile(TileRows& rows, KeyFinder& keys, int64_t q_first, int64_t q_last, int tile_q,
              int part_q) {
  rows.first.push_back(q_first);
  rows.keys.push_back(keys.find(q_first, q_last));
  if (tile_q <= part_q) {
    rows.parts.push_back(rows.keys.back());
    return;
  }
  for (int64_t first = q_first; first < q_first + tile_q; first += part_q) {
    const int64_t last = std::min(first + part_q - 1, q_last);
    rows.parts.push_back(first > last ? RowKeys{} : keys.find(first, last));
  }
}

}  // namespace

bool has_lengths_at_both_ends(const attention::KeyRange& range) {
  return has_length(range.begin) && has_length(range.end);
}

TileRows tile_rows(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv, int tile_q,
                   int64_t most, int part_q, const MaskHeads& heads) {
  TileRows rows;
  rows.count = (seq_q + tile_q - 1) / tile_q;
  if (range.always_full) {
    rows.first = {0};
    rows.keys = {{0, seq_kv, 0, seq_kv}};
    rows.parts.assign(static_cast<size_t>(std::max(1, tile_q / part_q)), rows.keys[0]);
    rows.stride = static_cast<double>(rows.count);
    return rows;
  }
  KeyFinder keys(range, seq_q, seq_kv);
  const int64_t samples = std::min(rows.count, most);
  const int64_t heads_of_row = heads_of_each(samples, most, heads.count);
  const int64_t entries = samples * heads_of_row;
  rows.stride = entries > 0 ? static_cast<double>(rows.count) / static_cast<double>(entries) : 1;
  for (int64_t i = 0; i < entries; ++i) {
    const int64_t row = spread_sample(i / heads_of_row, samples, rows.count);
    const int64_t q_first = row * tile_q;
    if (heads.count > 1) {
      rows.heads.push_back(head_in_turn(i, heads));
      keys.set(rows.heads.back());
    }
    add_tile(rows, keys, q_first, std::min(q_first + tile_q, seq_q) - 1, tile_q, part_q);
  }
  return rows;
}

bool uneven(const TileRows& rows) {
  return std::ranges::any_of(rows.keys, [&](const RowKeys& keys) {
    const RowKeys& first = rows.keys.front();
    return keys.end - keys.begin != first.end - first.begin;
  });
}

double spread_of(const TileRows& rows) {
  if (rows.keys.empty()) return 0;
  const auto begins = std::ranges::minmax(rows.keys, {}, &RowKeys::begin);
  const auto ends = std::ranges::minmax(rows.keys, {}, &RowKeys::end);
  const int64_t all = ends.max.end - begins.min.begin;
  if (all <= 0) return 0;
  const int64_t apart = (begins.max.begin - begins.min.begin) + (ends.max.end - ends.min.end);
  return std::min(1.0, static_cast<double>(apart) / static_cast<double>(all));
}

double pairs_of(const TileRows& single) {
  double pairs = 0;
  for (const RowKeys& keys : single.keys) {
    pairs += static_cast<double>(std::max<int64_t>(0, keys.end - keys.begin));
  }
  return pairs * single.stride;
}

RowBlocks blocks_of(const RowKeys& keys, int tile_kv) {
  if (keys.begin >= keys.end) return {};
  const int64_t first = keys.begin / tile_kv;
  const int64_t last = (keys.end + tile_kv - 1) / tile_kv;  // one past
  const int64_t first_full = std::max(first, (keys.full_begin + tile_kv - 1) / tile_kv);
  const int64_t last_full = std::min(last, keys.full_end / tile_kv);
  const int64_t full = std::max<int64_t>(0, last_full - first_full);
  return {full, last - first - full};
}

}  // namespace attngen::schedule
