#include "attention/tiles.h"

#include <algorithm>
#include <string_view>

namespace attngen::attention {

using expr::Interval;
using expr::point;

namespace {

Interval range(int64_t first, int64_t last) {
  return {static_cast<double>(first), static_cast<double>(last)};
}

// The whole number nearest to `value` in [0, limit].
int64_t clamped(double value, int64_t limit) {
  if (!(value > 0)) return 0;
  return value >= static_cast<double>(limit) ? limit : static_cast<int64_t>(value);
}

}  // namespace

TileClass classify(const expr::Expr& mask, const Tile& tile, int64_t seq_q, int64_t seq_kv,
                   const expr::Bounds& others) {
  const int64_t q_end = std::min(tile.q_end, seq_q);
  const int64_t kv_end = std::min(tile.kv_end, seq_kv);
  if (tile.q_begin >= q_end || tile.kv_begin >= kv_end) return TileClass::Empty;
  expr::Bounds bounds;
  bounds.variable = [&](std::string_view name) -> Interval {
    if (name == "q_idx") return range(tile.q_begin, q_end - 1);
    if (name == "kv_idx") return range(tile.kv_begin, kv_end - 1);
    if (name == "q_pos") return range(tile.q_begin + seq_kv - seq_q, q_end - 1 + seq_kv - seq_q);
    if (name == "seq_q") return point(seq_q);
    if (name == "seq_kv") return point(seq_kv);
    return others.variable ? others.variable(name) : Interval{};
  };
  bounds.input = [&](std::string_view name) {
    return others.input ? others.input(name) : Interval{};
  };
  const Interval value = expr::bound(mask, bounds);
  if (value.is_false()) return TileClass::Empty;
  return value.is_true() && tile.kv_end <= seq_kv ? TileClass::Full : TileClass::Partial;
}

TileCounts count_tiles(const KeyRange& keys, int64_t seq_q, int64_t seq_kv, int tile_q,
                       int tile_kv) {
  TileCounts counts;
  for (int64_t q_first = 0; q_first < seq_q; q_first += tile_q) {
    const int64_t q_last = std::min(q_first + tile_q, seq_q) - 1;
    expr::Bounds bounds;
    bounds.variable = [&](std::string_view name) -> Interval {
      if (name == "q_first") return point(q_first);
      if (name == "q_last") return point(q_last);
      if (name == "seq_q") return point(seq_q);
      if (name == "seq_kv") return point(seq_kv);
      return {};  // b, h, h_kv
    };
    bounds.input = [](std::string_view) { return Interval{}; };
    const int64_t begin = clamped(expr::bound(keys.begin, bounds).low, seq_kv);
    const int64_t end = clamped(expr::bound(keys.end, bounds).high, seq_kv);
    const int64_t full_begin = clamped(expr::bound(keys.full_begin, bounds).high, seq_kv);
    const int64_t full_end = clamped(expr::bound(keys.full_end, bounds).low, seq_kv);
    ++counts.rows;
    if (begin >= end) continue;
    const int64_t first = begin / tile_kv;
    const int64_t last = (end + tile_kv - 1) / tile_kv;  // one past
    const int64_t first_full = std::max(first, (full_begin + tile_kv - 1) / tile_kv);
    const int64_t last_full = std::min(last, full_end / tile_kv);
    const int64_t full = std::max<int64_t>(0, last_full - first_full);
    counts.full += full;
    counts.partial += last - first - full;
    counts.longest = std::max(counts.longest, last - first);
  }
  return counts;
}

}  // namespace attngen::attention
