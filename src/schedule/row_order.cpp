#include "schedule/row_order.h"

#include <algorithm>
#include <cstdint>

#include "schedule/rows.h"
#include "schedule/tested_blocks.h"

namespace attngen::schedule {
namespace {

// Of the tiles that are looked at, whichever the search takes: how high, how wide, how many rows.
constexpr int kTile = 128;
constexpr int64_t kRowsAsked = 64;

double blocks_of_row(const Kernel& kernel, const spec::Workload& w, int64_t first,
                     const RowKeys& keys) {
  if (kernel.test) {
    const int64_t last = std::min(first + kTile, w.seq_q) - 1;
    const TestedBlocks blocks =
        tested_blocks(*kernel.test, {first, last, keys}, w.seq_q, w.seq_kv, kTile);
    return blocks.full + blocks.partial;
  }
  const RowBlocks blocks = blocks_of(keys, kTile);
  return static_cast<double>(blocks.full + blocks.partial);
}

}  // namespace

bool first_rows_longest(const Kernel& kernel) {
  if (kernel.workload.empty() || kernel.range.always_full) return false;
  const spec::Workload& w = kernel.workload.front();
  const TileRows rows = tile_rows(kernel.range, w.seq_q, w.seq_kv, kTile, kRowsAsked);
  const size_t half = rows.keys.size() / 2;
  double of_first = 0, of_last = 0;
  for (size_t i = 0; i < half; ++i) {
    const size_t other = rows.keys.size() - 1 - i;
    of_first += blocks_of_row(kernel, w, rows.first[i], rows.keys[i]);
    of_last += blocks_of_row(kernel, w, rows.first[other], rows.keys[other]);
  }
  // Beyond what a sample of equal rows shows by chance.
  constexpr double kMargin = 1.05;
  return of_first > kMargin * of_last;
}

}  // namespace attngen::schedule
