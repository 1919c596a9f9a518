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

// Calls `take(tile)` for the first `count` tiles of the grid, head by head.
template <typename Take>
void for_tiles(const Load& load, int64_t count, const Take& take) {
  const std::vector<double>& rows = *load.tiles;
  for (size_t row = 0; count > 0; --count) {
    take(rows[row]);
    if (++row == rows.size()) row = 0;
  }
}

// Core c takes the tiles c, c + cores, ...: by how much the longest core exceeds the mean.
double strided_excess(const Load& load, int cores, int64_t count) {
  std::vector<double> busy(static_cast<size_t>(cores), 0.0);
  size_t core = 0;
  for_tiles(load, count, [&](double tile) {
    busy[core] += tile;
    if (++core == busy.size()) core = 0;
  });
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

double dealt_one_by_one(const Load& load, int cores, Order order, int64_t count) {
  std::vector<double> tiles;
  tiles.reserve(static_cast<size_t>(count));
  for_tiles(load, count, [&](double tile) { tiles.push_back(tile); });
  if (order == Order::LongestFirst) std::sort(tiles.begin(), tiles.end(), std::greater<>());
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
    return dealt_one_by_one(load, cores, order, static_cast<int64_t>(count));
  }
  // On average the last core ends half a tile after the mean: half of the shortest when they come
  // last, half of the longest in the order of rows.
  const double tail = order == Order::LongestFirst ? *shortest / 2 : *longest / 2;
  return std::max(share + tail, *longest);
}

}  // namespace attngen::schedule
