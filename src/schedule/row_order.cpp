#include "schedule/row_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "attention/given.h"
#include "schedule/rows.h"
#include "schedule/tested_blocks.h"

namespace attngen::schedule {
namespace {

// Of the tiles that are looked at, whichever the search takes: how high, how wide, how many rows.
constexpr int kTile = 128;
constexpr int64_t kRowsAsked = 64;

std::vector<double> blocks_of_rows(const Kernel& kernel, const spec::Workload& w,
                                   const TileRows& rows) {
  std::vector<double> counts;
  if (kernel.test) {
    const std::vector<TilePlace> places = places_of(rows, w.seq_q, kTile);
    for (const TestedBlocks& blocks : BlockTester(attention::given(*kernel.test, w.values))
                                          .ask(places, {w.seq_q, w.seq_kv, kTile})) {
      counts.push_back(blocks.full + blocks.partial);
    }
    return counts;
  }
  for (const RowKeys& keys : rows.keys) {
    const RowBlocks blocks = blocks_of(keys, kTile);
    counts.push_back(static_cast<double>(blocks.full + blocks.partial));
  }
  return counts;
}

// Whether more than its rows says which keys a tile has: a call's data, its batch or head.
bool reads_more_than_rows(const attention::KeyRange& range) {
  return std::ranges::any_of(std::array{range.begin, range.end}, [](const expr::Expr& end) {
    const auto mentioned = [&](const char* name) { return expr::mentions(end, name); };
    return !expr::inputs_of(end).empty() ||
           std::ranges::any_of(std::array{"b", "h", "h_kv"}, mentioned);
  });
}

}  // namespace

RowOrder row_order(const Kernel& kernel) {
  if (kernel.list_room > 0) return {.even = true};  // a tile visits a list, whatever the mask
  if (kernel.workload.empty() || kernel.range.always_full) return {};
  const spec::Workload& w = kernel.workload.front();
  const TileRows rows =
      tile_rows(attention::given(kernel.range, w.values), w.seq_q, w.seq_kv, kTile, kRowsAsked);
  const std::vector<double> blocks = blocks_of_rows(kernel, w, rows);
  const auto half = static_cast<ptrdiff_t>(blocks.size() / 2);
  const double of_first = std::accumulate(blocks.begin(), blocks.begin() + half, 0.0);
  const double of_last = std::accumulate(blocks.end() - half, blocks.end(), 0.0);
  RowOrder order;
  // Beyond what a sample of equal rows shows by chance.
  constexpr double kMargin = 1.05;
  order.first_longest = of_first > kMargin * of_last;
  constexpr double kFew = 0.25;
  const double at_end = order.first_longest ? blocks.back() : blocks.front();
  order.ends_short = at_end < kFew * *std::ranges::max_element(blocks);
  constexpr double kEven = 0.9;
  const auto [fewest, most] = std::ranges::minmax_element(blocks);
  order.even = !kernel.test && !reads_more_than_rows(kernel.range) && *fewest >= kEven * *most;
  for (const RowKeys& keys : rows.keys) order.span = std::max(order.span, keys.end - keys.begin);
  if (2 * order.span > w.seq_kv) order.span = 0;
  return order;
}

}  // namespace attngen::schedule
