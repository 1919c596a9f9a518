// An entry of the table of pairs: what the mask says of a tile's queries and a block's keys.
#pragma once

struct PairEntry {
  bool any, all;  // of their pairs exist
};
__device__ __forceinline__ int4 packed_pairs(bool any, bool all) {
  return make_int4(any, all, 0, 0);
}
__device__ __forceinline__ PairEntry unpacked_pairs(int4 x) { return {x.x != 0, x.y != 0}; }

// One of each tile of queries and block of keys, for every batch and head that the table tells
// apart. `Call`: Params, or arguments that are in range. `Number`: double for lengths that no
// memory holds, whose product may leave 64 bits.
template <typename Number, typename Call>
__host__ __device__ __forceinline__ Number table_entries(const Call& call) {
  const auto tiles = static_cast<Number>((call.seq_q + kTileQueries - 1) / kTileQueries);
  const auto blocks = static_cast<Number>((call.seq_kv + kTileKv - 1) / kTileKv);
  const auto planes = static_cast<Number>(kPairsOfBatch ? call.batch : 1) * kPairHeads;
  return planes * tiles * blocks;
}

// Which one it is, of a row's batch and head.
__device__ __forceinline__ int64_t pair_entry(int q_first, int kv_first, const Row& row) {
  const int tiles = (row.seq_q + kTileQueries - 1) / kTileQueries;
  const int blocks = (row.seq_kv + kTileKv - 1) / kTileKv;
  const int64_t plane =
      int64_t{kPairsOfBatch ? row.b : 0} * kPairHeads + (kPairHeads > 1 ? row.h_kv : 0);
  return (plane * tiles + q_first / kTileQueries) * blocks + kv_first / kTileKv;
}

// The row so many queries on.
__device__ __forceinline__ Row row_after(Row row, int queries) {
  row.q_idx += queries;
  row.q_pos += queries;
  return row;
}
