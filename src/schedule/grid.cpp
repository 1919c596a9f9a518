#include "schedule/grid.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attngen::schedule {
namespace {

// Up to this many tiles a core are dealt one by one; beyond, closed forms are near enough.
constexpr double kDealt = 4;
constexpr double kStrided = 16;

// Core c takes the tiles c, c + cores, ... of the first `count`, head by head: by how much the
// longest core exceeds the mean.
double strided_excess(const Load& load, int cores, int64_t count) {
  const std::vector<double>& rows = *load.tiles;
  const int64_t tiles_of_head =
      std::llround(static_cast<double>(rows.size()) * load.tiles_per_entry);
  std::vector<double> busy(static_cast<size_t>(cores), 0.0);
  size_t core = 0;
  for (int64_t tile = 0, row = 0; tile < count; ++tile) {
    const double entry = static_cast<double>(row) / load.tiles_per_entry;
    busy[core] += rows[std::min(rows.size() - 1, static_cast<size_t>(entry))];
    if (++core == busy.size()) core = 0;
    if (++row == tiles_of_head) row = 0;
  }
  const double mean = std::accumulate(busy.begin(), busy.end(), 0.0) / cores;
  return *std::max_element(busy.begin(), busy.end()) / mean;
}

// The next tile goes to the core that is free first.
double dealt(const std::vector<double>& tiles, int cores) {
  std::vector<double> free_at(static_cast<size_t>(cores), 0.0);  // a heap, the earliest on top
  for (const double tile : tiles) {
    std::pop_heap(free_at.begin(), free_at.end(), std::greater<>());
    free_at.back() += tile;
    std::push_heap(free_at.begin(), free_at.end(), std::greater<>());
  }
  return *std::max_element(free_at.begin(), free_at.end());
}

double dealt_one_by_one(const Load& load, int cores, Order order) {
  const auto heads = static_cast<size_t>(load.heads);
  std::vector<double> rows = *load.tiles, tiles;
  tiles.reserve(rows.size() * heads);
  if (order == Order::LongestFirst) {
    if (!load.first_rows_longest) std::ranges::reverse(rows);
    for (const double row : rows) tiles.insert(tiles.end(), heads, row);
  } else {
    for (size_t head = 0; head < heads; ++head) {
      tiles.insert(tiles.end(), rows.begin(), rows.end());
    }
  }
  return dealt(tiles, cores);
}

}  // namespace

double makespan(const Load& load, int cores, Grid grid, Order order) {
  const std::vector<double>& rows = *load.tiles;
  if (rows.empty()) return 0;
  const auto [shortest, longest] = std::minmax_element(rows.begin(), rows.end());
  const double count = static_cast<double>(rows.size()) * load.tiles_per_entry * load.heads;
  if (*shortest == *longest) return std::ceil(count / cores) * *longest;

  const double total =
      std::accumulate(rows.begin(), rows.end(), 0.0) * load.tiles_per_entry * load.heads;
  const double share = total / cores;
  if (grid == Grid::Persistent && order == Order::Linear) {
    const auto strided = static_cast<int64_t>(std::min(count, kStrided * cores));
    return share * strided_excess(load, cores, strided);
  }
  if (load.tiles_per_entry == 1 && count <= kDealt * cores) {
    return dealt_one_by_one(load, cores, order);
  }
  // On average the last core ends half a tile after the mean: of the rows that come last, of the
  // longest in the order of rows.
  const double last = load.first_rows_longest ? rows.back() : rows.front();
  const double tail = order == Order::LongestFirst ? last / 2 : *longest / 2;
  return std::max(share + tail, *longest);
}

}  // namespace attngen::schedule
