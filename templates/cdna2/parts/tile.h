// The grid: which 32 * kWaves query rows of which head a block works on, and in what order.
#pragma once

struct Strides {
  int64_t batch, seq, head;  // in elements
};

// The kernel's one argument, by value.
struct Params {
  const void *q, *k, *v;
  void* o;
  Strides q_strides, k_strides, v_strides, o_strides;
  int batch, seq_q, seq_kv;
#if ATTN_PACKED_HEADS
  // ceil(seq_q * kGroupRows / kTileQ); the grid has batch * kTilesBeside * tiles_per_head blocks.
  int tiles_per_head;
#else
  int tiles_per_head;  // ceil(seq_q / kTileQ); the grid has batch * kHeadsQ * tiles_per_head blocks
#endif
#if ATTN_LONGEST_FIRST
  int section_heads;  // heads whose keys and values share the L2
#endif
  Inputs inputs;
  Saves saves;
};

#if ATTN_HEAD_PARTS > 1
// Of the tiles of the same rows, the first head of the i-th.
__device__ __forceinline__ int first_head_of(int i) {
  return i / kHeadParts * (kHeadsQ / kHeadsKv) + i % kHeadParts * kPartHeads;
}
#if ATTN_PADDED_HEADS

// How many heads the tile has whose first is h.
__device__ __forceinline__ int heads_from(int h) {
  constexpr int kGroup = kHeadsQ / kHeadsKv;
  return min(kPartHeads, kGroup - h % kGroup);
}
#endif

#endif
#if ATTN_PACKED_HEADS
// q_first counts a group's rows, and h is the first of its heads.
#endif
struct Tile {
  int q_first, h, b;
};

__device__ __forceinline__ Tile tile_at(int index, const Params& p) {
#if ATTN_LONGEST_FIRST
#if ATTN_FIRST_ROWS_LONGEST
  // Within a section the first rows of every head come first: the longer ones, if they differ.
#else
  // Within a section the last rows of every head come first: the longer ones, if they differ.
#endif
  const int section = index / (p.section_heads * p.tiles_per_head);
  const int first_head = section * p.section_heads;
#if ATTN_PACKED_HEADS
  const int heads = min(p.section_heads, p.batch * kTilesBeside - first_head);
#else
  const int heads = min(p.section_heads, p.batch * kHeadsQ - first_head);
#endif
  const int rest = index - first_head * p.tiles_per_head;
  const int head = first_head + rest % heads;
#if ATTN_FIRST_ROWS_LONGEST
  const int row = rest / heads;
#else
  const int row = p.tiles_per_head - 1 - rest / heads;
#endif
#else
  const int head = index / p.tiles_per_head;
  const int row = index % p.tiles_per_head;
#endif
#if ATTN_HEAD_PARTS > 1
  return {uniform(row * kTileQ), uniform(first_head_of(head % kTilesBeside)),
          uniform(head / kTilesBeside)};
#elif ATTN_PACKED_HEADS
  return {uniform(row * kTileQ), uniform(head % kHeadsKv * (kHeadsQ / kHeadsKv)),
          uniform(head / kHeadsKv)};
#else
  return {uniform(row * kTileQ), uniform(head % kHeadsQ), uniform(head / kHeadsQ)};
#endif
}

__device__ __forceinline__ Row row_at(const Tile& tile, int q_idx, const Params& p) {
  Row row{};
  row.b = tile.b;
  row.h = tile.h;
  row.h_kv = tile.h / (kHeadsQ / kHeadsKv);
  row.q_idx = q_idx;
  row.q_pos = q_idx + (p.seq_kv - p.seq_q);
  row.seq_q = p.seq_q;
  row.seq_kv = p.seq_kv;
  return row;
}

#if ATTN_PACKED_HEADS
// A row of the group's. Those beyond the last query repeat it, so that inputs and queries are read
// in range; they are not stored.
#if ATTN_PADDED_HEADS
// Void rows repeat the last head likewise.
#endif
__device__ __forceinline__ Row group_row_at(const Tile& tile, int index, const Params& p) {
  Row row = row_at(tile, min(index / kGroupRows, p.seq_q - 1), p);
#if ATTN_PADDED_HEADS && ATTN_HEAD_PARTS > 1
  row.h += min(index % kGroupRows, heads_from(tile.h) - 1);
#elif ATTN_PADDED_HEADS
  row.h += min(index % kGroupRows, kHeadsQ / kHeadsKv - 1);
#else
  row.h += index % kGroupRows;
#endif
  return row;
}
#endif

// The blocks of keys that a tile visits, from end - 1 down to begin; those within the full range
// need no test.
struct Blocks {
  int begin, end, full_begin, full_end;
#if !ATTN_EXPONENTIAL || !ATTN_INTERVAL_MASK
  __device__ __forceinline__ bool is_full(int block) const {
    return block >= full_begin && block < full_end;
  }
#endif
};

__device__ __forceinline__ Blocks blocks_of(const Tile& tile, const Params& p) {
#if ATTN_PACKED_HEADS
  const int q_first = tile.q_first / kGroupRows;
  const Row row = row_at(tile, q_first, p);  // a query's keys do not depend on the head
  const int q_last = min(q_first + kTileQ / kGroupRows, p.seq_q) - 1;
  const KeyRange keys = key_range(q_first, q_last, row, p.inputs);
#else
  const Row row = row_at(tile, tile.q_first, p);
  const int q_last = min(tile.q_first + kTileQ, p.seq_q) - 1;
  const KeyRange keys = key_range(tile.q_first, q_last, row, p.inputs);
#endif
  return {uniform(keys.begin / kTileKv),
          uniform(keys.end > keys.begin ? (keys.end + kTileKv - 1) / kTileKv : 0),
          uniform((keys.full_begin + kTileKv - 1) / kTileKv), uniform(keys.full_end / kTileKv)};
}
