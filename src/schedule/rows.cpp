#include "schedule/rows.h"

#include <algorithm>

#include "schedule/lengths.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

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
  const Lengths lengths = taken_lengths(range, seq_q, seq_kv);
  KeyFinder keys(range, seq_q, seq_kv, key_lengths(lengths, range, seq_kv));
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

double pairs_of(const TileRows& single, double most) {
  double pairs = 0;
  for (const RowKeys& keys : single.keys) {
    pairs += std::min(most, static_cast<double>(std::max<int64_t>(0, keys.end - keys.begin)));
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
