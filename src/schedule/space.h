// The space that the search walks.
#pragma once

#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/search.h"

namespace attngen::schedule {

// How the scores become the second product's operand: where they are kept, what runs beside them.
struct Way {
  Place weights;
  Overlap overlap;
};
// Best first. A way is worth a look only where no better one fits: see dominates().
const std::vector<Way>& ways();
// Whether `a`, where it fits, was never slower than `b`.
bool dominates(const Way& a, const Way& b);

// Keys of a tile: multiples of the least; beyond 192 in coarser steps.
inline constexpr int kTilesKv[] = {32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256};
// Where the registers hold none of these: such a tile keeps the tensor cores waiting, but asks for
// the fewest.
inline constexpr int kLeastTilesKv[] = {kLeastTileKv};

// Tiles of one way in each of the orders, without a choice of stages yet, on a persistent grid.
std::vector<Schedule> tiles(const Way& way, std::span<const int> tiles_kv,
                            std::span<const Order> orders);

// Whether the search looks at a tile with the query heads packed: several share a key head, and
// some point of the workload has fewer queries than two such tiles have rows. With more, tiles of
// one head waste few rows, and packed ones would hardly be fewer; but heads that keep the same
// blocks of keys (block sparsity) read them once together, where a tile is higher than a block.
bool worth_packing(const Schedule& tile, const Kernel& kernel);

// Whether some call of the workload would split the keys of such tiles.
bool worth_splitting(Schedule schedule, const Resources& resources, const Kernel& kernel);

// The depths of the rings from which the fit takes the first that it can, and the least.
inline constexpr int kDeepStages[] = {4, 3};
inline constexpr int kLeastStages = 2;

// A tile with and without ping-pong.
std::vector<Schedule> variants(const Schedule& tile);

// The CDNA2 template's tiles, in linear order and, if tiles are uneven, the longest first.
std::vector<Schedule> tiles_cdna2(bool uneven_tiles);

}  // namespace attngen::schedule
