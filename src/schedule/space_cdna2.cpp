#include "schedule/space.h"

namespace attngen::schedule {
namespace {

constexpr int kWarpgroups[] = {1, 2, 4};  // lanes divide tiles evenly for powers of two
constexpr int kTilesKv[] = {32, 64, 128};

}  // namespace

std::vector<Schedule> shapes_cdna2() {
  std::vector<Schedule> all;
  for (const int warpgroups : kWarpgroups) {
    for (const int tile_kv : kTilesKv) {
      all.push_back({warpgroups, tile_kv, 1, Place::Registers, Overlap::IntraWarpgroup, false,
                     Grid::Plain, Order::Linear});
    }
  }
  return all;
}

std::vector<Schedule> variants_cdna2(const Schedule& shape, bool uneven_tiles) {
  std::vector<Schedule> all{shape};
  if (uneven_tiles) {
    all.push_back(shape);
    all.back().order = Order::LongestFirst;
  }
  return all;
}

}  // namespace attngen::schedule
