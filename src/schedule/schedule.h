// A schedule: how one kernel places and times its intermediate tensors. Data: printable,
// replayable.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/strips.h"

namespace attngen::schedule {

enum class Place : unsigned char { Registers, Shared };

// An intermediate tensor of a tile's computation: query, key, value,
// scores, weights, accumulator.
struct Tensor {
  std::string name;
  int rows = 0;
  int cols = 0;
  int element_bytes = 0;
  Place place = Place::Registers;
  int stages = 1;
};

// How a consumer warpgroup overlaps its own matrix products with its softmax.
enum class Overlap : unsigned char {
  None,            // S, softmax, PV in order
  IntraWarpgroup,  // the next S runs under this block's softmax, PV under the next softmax
};
enum class Grid : unsigned char { Plain, Persistent };
enum class Order : unsigned char { Linear, LongestFirst };

const char* name_of(Place);    // as JSON has it: "registers"
const char* name_of(Overlap);  // "intra_warpgroup"
const char* name_of(Grid);     // "persistent"
const char* name_of(Order);    // "longest_first"

inline constexpr int kLeastTileKv = 16;  // the depth of a matrix instruction

// Of a group of more than 64 heads a tile of packed ones has a part: of 71 two tiles have 36
// and 35.
constexpr int head_parts(int group) { return (group + 63) / 64; }
constexpr int part_heads(int group) { return (group + head_parts(group) - 1) / head_parts(group); }

// Rows of a query in a tile of packed heads: one for each, and void ones up to a power of two, so
// that 64 rows hold whole queries. 7 heads have 8.
constexpr int packed_rows(int group) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(part_heads(group))));
}

struct Schedule {
  int warpgroups = 2;  // consumers, 64 rows of scores each; on CDNA2 two waves of 32 rows
  int tile_kv = 128;   // keys per step
  int stages = 2;      // of the K and of the V ring
  Place weights = Place::Registers;
  Overlap overlap = Overlap::IntraWarpgroup;
  bool ping_pong = true;  // warpgroups take turns on the tensor cores
  Grid grid = Grid::Persistent;
  Order order = Order::Linear;
  bool pack_heads = false;     // the query heads of a key head share a tile: rows of few queries
  bool split_keys = false;     // a call of few tiles shares out their keys too (splits.h)
  bool lists_as_mask = false;  // lists of tokens become bits of all pairs, beforehand
  bool scan = false;           // Hopper: calls of many heads go along them (schedule/scan.h)

  // The kernel's, not a choice, and no part of the JSON: warpgroups that share 64 query rows, each
  // with a map of scores, or a side of the output's columns, of its own.
  int partners = 1;
  // Likewise: a tile has the heads of one query, whose keys are its own.
  bool one_query = false;

  int row_blocks() const { return warpgroups / partners; }  // of 64 query rows
  int tile_q() const { return 64 * warpgroups / partners; }
  // Of a tile of packed heads, where `group` query heads share a key head.
  int rows_of_query(int group) const { return one_query ? tile_q() : packed_rows(group); }
  int queries(int group) const { return pack_heads ? tile_q() / rows_of_query(group) : tile_q(); }
  bool operator==(const Schedule&) const = default;
};

// Whether a step takes two of the caller's blocks of so many keys; 0: there are none.
inline bool gathers(const Schedule& s, int block_size) {
  return block_size > 0 && s.tile_kv > block_size;
}

// Of a cache in pages of so many keys, or 0: the keys of a tile that are sure to stand in one page.
inline int page_keys(const Schedule& s, int page, int block_size) {
  const int together = gathers(s, block_size) ? block_size : s.tile_kv;
  return std::gcd(together, page);
}

// Likewise: the copies in which a tile's keys come, each of one page.
inline int page_copies(const Schedule& s, int page, int block_size) {
  return page > 0 ? s.tile_kv / page_keys(s, page, block_size) : 0;
}

// Rows of the caller's blocks, of so many queries each, that the scout looks at for a tile: one
// that holds it, or each warpgroup's own, or each of several that a warpgroup's queries stand in.
inline int rows_of_blocks(const Schedule& s, int block_queries, int group) {
  const int queries = s.queries(group), of_warpgroup = queries / s.row_blocks();
  if (block_queries == 0 || block_queries % queries == 0) return 1;
  return block_queries % of_warpgroup == 0 ? s.row_blocks() : queries / block_queries;
}

// Whether the warpgroups of a tile keep different blocks, and pass over the others'.
inline bool skips_blocks(const Schedule& s, int block_queries, int group) {
  return s.row_blocks() > 1 && rows_of_blocks(s, block_queries, group) > 1;
}

// Whether the rows of a warpgroup do.
inline bool rows_differ(const Schedule& s, int block_queries, int group) {
  return rows_of_blocks(s, block_queries, group) > s.row_blocks();
}

// Bytes of a mask's bits for a tile and a block of keys: 16 for each query and up to 128 keys.
inline int mask_tile_bytes(const Schedule& s, int group) {
  return s.queries(group) * 16 * ((s.tile_kv + 127) / 128);
}

// How many blocks of keys have the bits of a tile's lists in shared memory at a time, before the
// kernel: 160 KB of them, each block's 16 bytes behind the one before.
inline int listed_blocks(const Schedule& s, int group) {
  constexpr int kBytes = 160 << 10;
  return kBytes / (mask_tile_bytes(s, group) + 16);
}

// Whether blocks draw their tiles from a counter: which takes which is known only as they come.
inline bool counts_tiles(const Schedule& s) {
  return s.grid == Grid::Persistent && s.order == Order::LongestFirst;
}

// How many of the last tiles a kernel ranks by what their first row keeps, about one for each core:
// block-sparse ones without a mask whose warpgroups keep the same, if they count their tiles.
// Packed sequences have an order of their own.
inline int ranked_tiles(const Schedule& s, int block_queries, int group, bool masked, bool varlen) {
  const bool ranks =
      block_queries > 0 && !rows_differ(s, block_queries, group) && !masked && !varlen;
  return ranks && counts_tiles(s) ? 128 : 0;
}

// In what order the longest-first order takes a head's rows (row_order.h).
struct RowOrder {
  // Whether a head's first rows have more blocks of keys than its last ones: queries at the
  // beginning that see all keys, a mask of what comes later.
  bool first_longest = false;
  // Whether the rows at the order's end have few blocks, as a causal mask's first ones.
  bool ends_short = false;
  // Whether all tiles have about as many keys, whatever the call's data: as those of few queries
  // that see all keys before them.
  bool even = false;
  // Keys from a tile's first to its last, at most; 0 if they may be half of all.
  int64_t span = 0;
};

// In which forms a kernel has the spec's functions.
struct Forms {
  bool near = false;   // a block that may be computed again takes near forms (near_form.h)
  bool far = false;    // keys far behind come as states (far_form.h)
  bool level = false;  // blocks where a score adds the same to all products are told (level_form.h)
  attention::Shared strips = attention::Shared::Nothing;  // what is computed once (strips.h)
  bool bias = false;    // an input with an element for each pair comes by tiles (pair_input.h)
  bool places = false;  // a key's place in its block is at hand: blocks stand side by side
  bool tables = false;  // rows of tables stay in shared memory (row_tables.h)
  bool join = false;    // what parts of a row's keys left can be put together
};

// What a schedule needs of a core.
struct Resources {
  int threads = 0;
  int producer_registers = 0;  // setmaxnreg targets; 0 where the family has none
  int consumer_registers = 0;
  int register_need = 0;   // estimate, of a consumer thread
  bool fixed_max = false;  // unmasked blocks keep the row's first maximum (attention/fixed_max.h)
  Forms forms = {};
  // Hopper: a tile takes the parts of its values one after the other, and sums far keys once.
  bool parts_in_turn = false;
  bool weights_in_keys = false;  // Hopper: in a slot's columns that are no values
  bool scout = false;         // Hopper: a warp of its own finds blocks of keys ahead of their loads
  bool values_apart = false;  // Hopper: another warp than the producer's brings values
  bool page_rows = false;     // threads copy rows of pages too small for TMA, or for a CDNA2 tile
  int query_stages = 1;       // 2: the next tile's queries load under this tile's end
  int shared_bytes = 0;       // per block
  int blocks_per_core = 1;    // Hopper: that share a core, each with a tile of its own
  int places = 0;             // Hopper: of blocks, on the whole GPU
  int waves_per_simd = 0;     // CDNA2: waves of all blocks that share a SIMD; 0 elsewhere
  RowOrder row_order = {};
};

// One line, keys in a fixed order; those that may be left out only where they are true.
std::string to_json(const Schedule& schedule);
// "128x128, 2 stages, 2 warpgroups, weights in registers, intra-warpgroup overlap, ping-pong,
// persistent"
std::string describe(const Schedule& schedule);
// "1 warpgroup", "2 warpgroups"
std::string plural(int count, const char* noun);

}  // namespace attngen::schedule
