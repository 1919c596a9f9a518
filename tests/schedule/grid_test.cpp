#include "schedule/grid.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace attngen::schedule {
namespace {

double span(const std::vector<double>& tiles, double heads, int cores, Grid grid, Order order) {
  return makespan({&tiles, 1, heads}, cores, grid, order);
}

TEST_CASE("equal tiles go in whole waves") {
  const std::vector<double> tiles(10, 7.0);
  CHECK(span(tiles, 1, 4, Grid::Persistent, Order::Linear) == 21);
  CHECK(span(tiles, 1, 4, Grid::Plain, Order::Linear) == 21);
  CHECK(span(tiles, 1, 10, Grid::Plain, Order::Linear) == 7);
  CHECK(makespan({&tiles, 100, 2}, 4, Grid::Persistent, Order::Linear) == 3500);
  CHECK(span({}, 1, 4, Grid::Plain, Order::Linear) == 0);
}

TEST_CASE("the order decides for uneven tiles") {
  // Two cores. Dealt in order: 1, 2 | 3, 4 give 4 and 6. Longest first: 4, 1 | 3, 2 give 5 and 5.
  // By stride: 1, 3 | 2, 4 give 4 and 6.
  const std::vector<double> tiles{1, 2, 3, 4};
  CHECK(span(tiles, 1, 2, Grid::Plain, Order::Linear) == 6);
  CHECK(span(tiles, 1, 2, Grid::Persistent, Order::LongestFirst) == 5);
  CHECK(span(tiles, 1, 2, Grid::Persistent, Order::Linear) == 6);
}

TEST_CASE("rows that come last are the longest if the order begins at the wrong end") {
  // Two cores. From the last row on: 1, 3 | 2, 4 give 4 and 6; from the first: 4, 1 | 3, 2.
  const std::vector<double> tiles{4, 3, 2, 1};
  CHECK(span(tiles, 1, 2, Grid::Persistent, Order::LongestFirst) == 6);
  CHECK(makespan({&tiles, 1, 1, true}, 2, Grid::Persistent, Order::LongestFirst) == 5);
  CHECK(makespan({&tiles, 1, 99, true}, 2, Grid::Persistent, Order::LongestFirst) == 495 + 0.5);
  CHECK(span(tiles, 99, 2, Grid::Persistent, Order::LongestFirst) == 495 + 2);
}

TEST_CASE("a row that stands for several is met as often") {
  // Rows of 1, 1, 3, 3 by stride on two cores: both get one of each.
  const std::vector<double> tiles{1, 3};
  CHECK(makespan({&tiles, 2, 1}, 2, Grid::Persistent, Order::Linear) == 4);
  CHECK(span(tiles, 2, 2, Grid::Persistent, Order::Linear) == 6);
}

TEST_CASE("a head has a whole number of tiles, whatever is lost in the product") {
  // 196 tiles of a head stand in 170 entries; 170 * (196 / 170.) is less than 196. On 196 cores
  // each takes the same tile of every head, and one the only long tile.
  std::vector<double> tiles(170, 1);
  tiles.back() = 100;
  const double found = makespan({&tiles, 196 / 170., 16}, 196, Grid::Persistent, Order::Linear);
  CHECK(found > 1500);
}

TEST_CASE("a stride that resonates with the rows piles the long tiles on one core") {
  // Four rows on four cores: core 3 gets every longest tile.
  const std::vector<double> tiles{1, 2, 3, 4};
  CHECK(span(tiles, 100, 4, Grid::Persistent, Order::Linear) == doctest::Approx(400));
  CHECK(span(tiles, 100, 4, Grid::Persistent, Order::LongestFirst) < 260);
}

TEST_CASE("bounds: no less than the mean or the longest tile, no more than both") {
  std::vector<double> tiles(37);
  std::iota(tiles.begin(), tiles.end(), 1.0);
  const double total = std::accumulate(tiles.begin(), tiles.end(), 0.0);
  for (const double heads : {1.0, 3.0, 100.0}) {
    for (const int cores : {1, 8, 132}) {
      for (const Grid grid : {Grid::Plain, Grid::Persistent}) {
        for (const Order order : {Order::Linear, Order::LongestFirst}) {
          const double clk = span(tiles, heads, cores, grid, order);
          CAPTURE(heads);
          CAPTURE(cores);
          CHECK(clk >= doctest::Approx(std::max(total * heads / cores, 37.0)));
          if (grid == Grid::Plain || order == Order::LongestFirst) {
            CHECK(clk <= total * heads / cores + 37);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attngen::schedule
