// The grid: which 32 * kWaves query rows of which head a block works on, and in what order.
#pragma once

struct Strides {
#if ATTN_VARLEN
  int64_t seq, head;  // in elements
#else
  int64_t batch, seq, head;  // in elements
#endif
};

#if ATTN_PAGE_SIZE
// Of keys and values.
struct PageStrides {
  int64_t page, seq, head;  // in elements
};

#endif
// The kernel's one argument, by value.
struct Params {
  const void *q, *k, *v;
  void* o;
#if ATTN_PAGE_SIZE
  Strides q_strides;
  PageStrides k_strides, v_strides;
  Strides o_strides;
#else
  Strides q_strides, k_strides, v_strides, o_strides;
#endif
#if ATTN_VARLEN
  int batch, total_q, total_kv;
  int tiles_per_head;  // at most; the grid has so many blocks for each head, or group in one tile
  const int32_t *cu_seqlens_q, *cu_seqlens_kv;  // [batch + 1]
#else
  int batch, seq_q, seq_kv;
#if ATTN_PACKED_HEADS
  // ceil(seq_q * kGroupRows / kTileQ); the grid has batch * kTilesBeside * tiles_per_head blocks.
  int tiles_per_head;
#else
  int tiles_per_head;  // ceil(seq_q / kTileQ); the grid has batch * kHeadsQ * tiles_per_head blocks
#endif
#endif
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN
  int section_heads;  // heads whose keys and values share the L2
#endif
#if ATTN_SPARSE
  int cells_q, cells_kv;  // of kCellQueries queries and kCellKeys keys
#if ATTN_SPARSE_BITMAP
  const uint8_t* block_mask;  // [batch, kCellHeads, cells_q, cells_kv]
#else
  // [batch, kCellHeads, cells_q]; the same with the room of a list.
  const int32_t *block_counts, *block_indices;
#endif
#endif
#if ATTN_PAGE_SIZE
  const int32_t* page_table;  // [batch, page_table_stride]
  int64_t page_table_stride;
  int page_table_keys;  // of which it has room for entries
  int pages;            // of the cache
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
  int seq_q, seq_kv;  // of its sequence
#if ATTN_VARLEN
  int q_begin, kv_begin;
#endif
};

#if ATTN_PAGE_SIZE
// Where its sequence begins in a tensor of queries, in elements.
#else
// Where its sequence begins in a tensor of queries, and in one of keys, in elements.
#endif
#if ATTN_VARLEN
__device__ __forceinline__ int64_t first_query(const Tile& tile, const Strides& strides) {
  return tile.q_begin * strides.seq;
}
#if !ATTN_PAGE_SIZE
__device__ __forceinline__ int64_t first_key(const Tile& tile, const Strides& strides) {
  return tile.kv_begin * strides.seq;
}
#endif
#else
__device__ __forceinline__ int64_t first_query(const Tile& tile, const Strides& strides) {
  return tile.b * strides.batch;
}
#if !ATTN_PAGE_SIZE
__device__ __forceinline__ int64_t first_key(const Tile& tile, const Strides& strides) {
  return tile.b * strides.batch;
}
#endif
#endif

#if ATTN_VARLEN
// Where a sequence begins, by a scalar load: nobody writes offsets while the kernel runs. Those
// beyond the tensors, which no right call has, are cut off.
__device__ __forceinline__ int begin_of(const int32_t* cu_seqlens, int b, int total) {
  using Offset = const __attribute__((address_space(4))) int32_t;
  return max(0, min(((Offset*)cu_seqlens)[b], total));
}

// Of sequence `b` the first place among a head's tiles. Each may end in a tile that is not full, so
// that sequence b has place b more than fills the rows before, and nobody counts their tiles.
__device__ __forceinline__ int first_place(int b, const Params& p) {
#if ATTN_PACKED_HEADS
  return begin_of(p.cu_seqlens_q, b, p.total_q) * kGroupRows / kTileQ + b;
#else
  return begin_of(p.cu_seqlens_q, b, p.total_q) / kTileQ + b;
#endif
}

// A place between two sequences may be nobody's: a tile of no query.
__device__ __forceinline__ Tile tile_at(int index, const Params& p) {
  const int head = index / p.tiles_per_head, place = index % p.tiles_per_head;
  int b = 0;  // the last sequence that does not begin beyond the place
  for (int end = p.batch; end - b > 1;) {
    const int middle = b + (end - b) / 2;
    const bool before = first_place(middle, p) <= place;
    b = before ? middle : b;
    end = before ? end : middle;
  }
  Tile tile{};
  tile.b = b;
  tile.q_begin = begin_of(p.cu_seqlens_q, b, p.total_q);
  tile.kv_begin = begin_of(p.cu_seqlens_kv, b, p.total_kv);
  const int queries = max(0, begin_of(p.cu_seqlens_q, b + 1, p.total_q) - tile.q_begin);
  tile.seq_kv = max(0, begin_of(p.cu_seqlens_kv, b + 1, p.total_kv) - tile.kv_begin);
#if ATTN_PACKED_HEADS
  const int tiles = (queries * kGroupRows + kTileQ - 1) / kTileQ;
#else
  const int tiles = (queries + kTileQ - 1) / kTileQ;
#endif
#if ATTN_LONGEST_FIRST && !ATTN_FIRST_ROWS_LONGEST
  // Its last rows come first: the longer ones, if they differ.
  const int row = tiles - 1 - (place - first_place(b, p));
#else
  const int row = place - first_place(b, p);
#endif
  tile.seq_q = row >= 0 && row < tiles ? queries : 0;
  tile.q_first = row * kTileQ;
#if ATTN_HEAD_PARTS > 1
  tile.h = uniform(first_head_of(head));
#elif ATTN_PACKED_HEADS
  tile.h = uniform(head * (kHeadsQ / kHeadsKv));
#else
  tile.h = uniform(head);
#endif
  return tile;
}
#else
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
          uniform(head / kTilesBeside), p.seq_q, p.seq_kv};
#elif ATTN_PACKED_HEADS
  return {uniform(row * kTileQ), uniform(head % kHeadsKv * (kHeadsQ / kHeadsKv)),
          uniform(head / kHeadsKv), p.seq_q, p.seq_kv};
#else
  return {uniform(row * kTileQ), uniform(head % kHeadsQ), uniform(head / kHeadsQ), p.seq_q,
          p.seq_kv};
#endif
}
#endif

__device__ __forceinline__ Row row_at(const Tile& tile, int q_idx) {
  Row row{};
  row.b = tile.b;
  row.h = tile.h;
  row.h_kv = tile.h / (kHeadsQ / kHeadsKv);
  row.q_idx = q_idx;
  row.q_pos = q_idx + (tile.seq_kv - tile.seq_q);
  row.seq_q = tile.seq_q;
  row.seq_kv = tile.seq_kv;
#if ATTN_VARLEN
  row.q_begin = tile.q_begin;
  row.kv_begin = tile.kv_begin;
#endif
  return row;
}

#if ATTN_PACKED_HEADS
// A row of the group's. Those beyond the last query repeat it, so that inputs and queries are read
// in range; they are not stored.
#if ATTN_PADDED_HEADS
// Void rows repeat the last head likewise.
#endif
__device__ __forceinline__ Row group_row_at(const Tile& tile, int index) {
  Row row = row_at(tile, min(index / kGroupRows, tile.seq_q - 1));
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
  const Row row = row_at(tile, q_first);  // a query's keys do not depend on the head
  const int q_last = min(q_first + kTileQ / kGroupRows, tile.seq_q) - 1;
  const KeyRange keys = key_range(q_first, q_last, row, p.inputs);
#else
  const Row row = row_at(tile, tile.q_first);
  const int q_last = min(tile.q_first + kTileQ, tile.seq_q) - 1;
  const KeyRange keys = key_range(tile.q_first, q_last, row, p.inputs);
#endif
  return {uniform(keys.begin / kTileKv),
          uniform(keys.end > keys.begin ? (keys.end + kTileKv - 1) / kTileKv : 0),
          uniform((keys.full_begin + kTileKv - 1) / kTileKv), uniform(keys.full_end / kTileKv)};
}
