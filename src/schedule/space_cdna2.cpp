#include "schedule/space.h"

namespace attngen::schedule {
namespace {

constexpr int kWarpgroupsCdna2[] = {1, 2, 4};  // threads divide tiles evenly for powers of two
constexpr int kTilesKvCdna2[] = {32, 64, 128};

}  // namespace

std::vector<Schedule> tiles_cdna2(bool uneven_tiles) {
  std::vector<Schedule> all;
  for (const int warpgroups : kWarpgroupsCdna2) {
    for (const int tile_kv : kTilesKvCdna2) {
      for (const Order order : {Order::Linear, Order::LongestFirst}) {
        if (order == Order::LongestFirst && !uneven_tiles) continue;
        all.push_back({.warpgroups = warpgroups,
                       .tile_kv = tile_kv,
                       .stages = 1,
                       .weights = Place::Registers,
                       .overlap = Overlap::IntraWarpgroup,
                       .ping_pong = false,
                       .grid = Grid::Plain,
                       .order = order});
      }
    }
  }
  return all;
}

}  // namespace attngen::schedule
