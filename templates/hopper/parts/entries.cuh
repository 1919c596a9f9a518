// Which queries or keys an entry of a table of ids is about.
#pragma once

constexpr int kTableThreads = 256;

// Of every batch and head that the table tells apart, a tile's queries or a block's keys. Nothing
// is asked where no key exists. `Call`: Params, or arguments that are in range.
template <typename Call>
__host__ __device__ __forceinline__ int64_t table_entries(int table, const Call& call) {
  if (call.seq_kv == 0) return 0;
  const TableShape shape = table_shape(table);
  const int64_t blocks = shape.of_keys ? (call.seq_kv + kTileKv - 1) / kTileKv
                                       : (call.seq_q + kTileQueries - 1) / kTileQueries;
  return int64_t{call.batch} * shape.heads * blocks;
}

__device__ __forceinline__ Stretch stretch_of(int table, int64_t entry, const Params& p) {
  const TableShape shape = table_shape(table);
  const int size = shape.of_keys ? kTileKv : kTileQueries;
  const int length = shape.of_keys ? p.seq_kv : p.seq_q;
  const int blocks = (length + size - 1) / size;
  const int first = static_cast<int>(entry % blocks) * size;
  const int plane = static_cast<int>(entry / blocks);
  // A table of key heads counts those; one of no heads has the first in their place.
  const int heads_per_entry = kHeadsQ / shape.heads;
  const int h = plane % shape.heads * heads_per_entry;
  return {row_at(plane / shape.heads, h, 0, p), first, min(first + size, length)};
}
