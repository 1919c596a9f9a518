#include "schedule/space.h"

namespace attngen::schedule {
namespace {

// Multiples of 16, the depth of a matrix instruction; beyond 192 in coarser steps.
constexpr int kTilesKv[] = {32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256};
constexpr int kStages[] = {2, 3, 4};

}  // namespace

std::vector<Schedule> shapes() {
  std::vector<Schedule> all;
  for (int warpgroups = 1; warpgroups <= 4; ++warpgroups) {
    for (const int tile_kv : kTilesKv) {
      for (const Place weights : {Place::Registers, Place::Shared}) {
        for (const Overlap overlap : {Overlap::IntraWarpgroup, Overlap::None}) {
          for (const int stages : kStages) {
            all.push_back(
                {warpgroups, tile_kv, stages, weights, overlap, false, Grid::Plain, Order::Linear});
          }
        }
      }
    }
  }
  return all;
}

std::vector<Schedule> variants(const Schedule& shape, bool uneven_tiles) {
  std::vector<Schedule> all;
  for (const bool ping_pong : {true, false}) {
    if (ping_pong && shape.warpgroups < 2) continue;
    for (const Grid grid : {Grid::Persistent, Grid::Plain}) {
      for (const Order order : {Order::Linear, Order::LongestFirst}) {
        if (order == Order::LongestFirst && !uneven_tiles) continue;
        Schedule variant = shape;
        variant.ping_pong = ping_pong;
        variant.grid = grid;
        variant.order = order;
        all.push_back(variant);
      }
    }
  }
  return all;
}

}  // namespace attngen::schedule
