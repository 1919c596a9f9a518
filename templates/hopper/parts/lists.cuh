// The keys of a query's list: two warps beside the producer's gather them and their values, row by
// row, into the tiles that TMA would fill. What is no key is zeros there.
#pragma once

// A tile, and what is gathered for it.
struct Gathered {
  Tile tile;
  List list;
  Blocks blocks;  // of all of its warpgroups
};

#if ATTN_SHARE_KV
// One of the warps that fill the ring of tiles of keys, each its chunks of columns.
#else
// A ring of tiles of keys, or of values, that one warp fills.
#endif
struct Gatherer {
  const Rows& rows;
  uint64_t *full, *empty;  // [kStages]
  int (&places)[kTileKv];  // where the rows that come next begin; -1: none
  const Params& p;
  const int lane = threadIdx.x % 32;
  RingSlot<kStages> slot;
#if ATTN_VARLEN
  TileFinder finder;
#endif

  // In the order of a thread's bits (MaskBits), lane l has of every 128 keys those that stand at
  // 8 (l / 2) + 2 t + l % 2 for t = 0 to 3.
  __device__ __forceinline__ int first_column() const { return lane / 2 * 8 + lane % 2; }
  __device__ static constexpr int columns_before(int i) { return i / 4 * 128 + i % 4 * 2; }
  __device__ __forceinline__ int column(int i) const { return first_column() + columns_before(i); }
  __device__ Gathered find(int index, int count);
  __device__ void load_list(const List& list, int block, int (&keys)[kMaskWords]) const;
#if ATTN_PAGE_SIZE
  __device__ void find_rows(const PageTable& table, const int (&keys)[kMaskWords],
                            int (&begins)[kMaskWords]) const;
#endif
#if ATTN_LISTED_KEYS
  __device__ void tell(Shared& shared, const bool (&exists)[kMaskWords],
                       const int (&keys)[kMaskWords]) const;
#else
  __device__ void tell(Shared& shared, const bool (&exists)[kMaskWords]) const;
#endif
  template <bool kTells, int kHeadDim, int kBegin, int kEnd, int kChunk, int kBytes>
  __device__ void run(uint8_t (&tiles)[kStages][kBytes], Shared& shared);
};

// Of the index-th of so many tiles; of none no block.
__device__ __forceinline__ Gathered Gatherer::find(int index, int count) {
  if (index >= count) return {};
#if ATTN_VARLEN
  const Tile tile = uniform(finder.find(index, p));
#else
  const Tile tile = tile_at(index, p);
#endif
  return {tile, list_of(tile, p), work_of(tile, 0, p).blocks};
}

// The lane's keys of a block; none: -1.
__device__ __forceinline__ void Gatherer::load_list(const List& list, int block,
                                                    int (&keys)[kMaskWords]) const {
#if ATTN_VARLEN
  const int seq_kv = list.seq_kv;
#else
  const int seq_kv = p.seq_kv;
#endif
#pragma unroll
  for (int i = 0; i < kMaskWords; ++i) {
    const int entry = block * kTileKv + column(i);
    const bool listed = column(i) < kTileKv && entry < list.count;
    const int key = listed ? __ldg(&list.keys[entry]) : -1;
    keys[i] = key < seq_kv ? key : -1;
  }
}

#if ATTN_PAGE_SIZE
// Where the rows of these keys begin; nowhere: -1.
__device__ __forceinline__ void Gatherer::find_rows(const PageTable& table,
                                                    const int (&keys)[kMaskWords],
                                                    int (&begins)[kMaskWords]) const {
#pragma unroll
  for (int i = 0; i < kMaskWords; ++i) {
    begins[i] = place_of(rows, existing(table.page_of(keys[i]), p), keys[i]);
  }
}

#endif
#if ATTN_LISTED_KEYS
// The mask's bits of the slot's block, and its keys.
__device__ __forceinline__ void Gatherer::tell(Shared& shared, const bool (&exists)[kMaskWords],
                                               const int (&keys)[kMaskWords]) const {
#else
// The mask's bits of the slot's block.
__device__ __forceinline__ void Gatherer::tell(Shared& shared,
                                               const bool (&exists)[kMaskWords]) const {
#endif
#pragma unroll
  for (int i = 0; i < kMaskWords; ++i) {
    const uint32_t word = __ballot_sync(0xffffffffu, exists[i]);
    if (lane == 0) reinterpret_cast<uint32_t*>(shared.mask[slot.index])[i] = word;
#if ATTN_LISTED_KEYS
    if (column(i) < kTileKv) shared.listed[slot.index][column(i)] = max(keys[i], 0);
#endif
  }
  __syncwarp();
  if (lane == 0) barrier_arrive(full[slot.index]);
}

#if ATTN_LISTED_KEYS
// Tile after tile, as the producer takes them. One of the warps tells the mask, and the keys.
#else
// Tile after tile, as the producer takes them. One of the warps tells the mask.
#endif
template <bool kTells, int kHeadDim, int kBegin, int kEnd, int kChunk, int kBytes>
__device__ __forceinline__ void Gatherer::run(uint8_t (&tiles)[kStages][kBytes], Shared& shared) {
#if ATTN_VARLEN
  const int count = min(*p.tile_count, p.tiles);
#else
  const int count = p.tiles;
#endif
  using Rounds = CopyRounds<kChunk>;
  int* const first_place = &places[Rounds::index(first_column())];
  int keys[kMaskWords];  // that come next
#if ATTN_PAGE_SIZE
  int begins[kMaskWords];
#endif
#if ATTN_LISTS_AHEAD
  // A tile is found, and its first keys are read, while the rows of the one before are copied.
  Gathered next = find(blockIdx.x, count);
  List list = next.list;
  load_list(list, next.blocks.first(), keys);
#if ATTN_PAGE_SIZE
  PageTable table = page_table_of(next.tile, p);
  find_rows(table, keys, begins);
#endif
#endif
#pragma unroll 1
  for (int index = blockIdx.x; index < count; index += gridDim.x) {
#if ATTN_LISTS_AHEAD
    const Tile tile = next.tile;
    const Blocks blocks = next.blocks;
    next = find(index + gridDim.x, count);
#else
    const auto [tile, list, blocks] = find(index, count);
#endif
#if ATTN_PAGE_SIZE
    const uint8_t* const from = rows.data + tile.h / kGroup * rows.stride_head;
#elif ATTN_VARLEN
    const uint8_t* const from = rows.data + tile.h / kGroup * rows.stride_head +
                                int64_t{tile.kv_begin} * rows.stride_seq * kPlaceBytes;
#else
    const uint8_t* const from =
        rows.data + tile.b * rows.stride_batch + tile.h / kGroup * rows.stride_head;
#endif
#if ATTN_TOKEN_MASK && ATTN_VARLEN
    const Row row = row_at(tile.b, tile.h, tile.q_first / kGroupRows, tile);
#elif ATTN_TOKEN_MASK
    const Row row = row_at(tile.b, tile.h, tile.q_first / kGroupRows, p);
#endif
#if ATTN_LISTS_AHEAD
    if (!blocks.has(blocks.first())) {
      list = next.list;
      load_list(list, next.blocks.first(), keys);
#if ATTN_PAGE_SIZE
      table = page_table_of(next.tile, p);
      find_rows(table, keys, begins);
#endif
    }
#else
    load_list(list, blocks.first(), keys);
#if ATTN_PAGE_SIZE
    const PageTable table = page_table_of(tile, p);
    find_rows(table, keys, begins);
#endif
#endif
#pragma unroll 1
    for (int block = blocks.first(); blocks.has(block); block = Blocks::after(block)) {
      __syncwarp();  // all have read the places of the block before
      bool exists[kMaskWords];
#pragma unroll
      for (int i = 0; i < kMaskWords; ++i) {
#if ATTN_TOKEN_MASK
        exists[i] = keys[i] >= 0 && mask_holds(row, keys[i], p.inputs);
#else
        exists[i] = keys[i] >= 0;
#endif
#if ATTN_PAGE_SIZE
        const int place = exists[i] ? begins[i] : -1;
#else
        const int place = exists[i] ? keys[i] * rows.stride_seq : -1;
#endif
        if (column(i) < kTileKv) first_place[Rounds::index(columns_before(i))] = place;
      }
      barrier_wait(empty[slot.index], slot.parity ^ 1);
      __syncwarp();
#if ATTN_LISTED_KEYS
      if constexpr (kTells) tell(shared, exists, keys);
#else
      if constexpr (kTells) tell(shared, exists);
#endif
#if ATTN_LISTS_AHEAD
      int ahead = Blocks::after(block);
      if (!blocks.has(ahead)) {
        ahead = next.blocks.first();
        list = next.list;
#if ATTN_PAGE_SIZE
        table = page_table_of(next.tile, p);
#endif
      }
      load_list(list, ahead, keys);
#else
      load_list(list, Blocks::after(block), keys);
#endif
      copy_rows<kBegin, kEnd, kChunk>(from, places, tiles[slot.index], kHeadDim);
      arrive_once_copied(full[slot.index]);
#if ATTN_PAGE_SIZE
      find_rows(table, keys, begins);
#endif
      slot.advance();
    }
  }
}

#if ATTN_SHARE_KV
// The chunks of warp kWarp of those that gather.
template <int kWarp>
__device__ __forceinline__ void gather_keys(Shared& shared, const Params& p) {
  constexpr int kBegin = kChunksQk * kWarp / kGatherers;
  constexpr int kEnd = kChunksQk * (kWarp + 1) / kGatherers;
  Gatherer{p.k, shared.key_full, shared.key_empty, shared.places[kWarp], p}
      .run<kWarp == 0, kHeadDimQk, kBegin, kEnd, kChunkQk>(shared.key, shared);
}
#else
__device__ __forceinline__ void gather_keys(Shared& shared, const Params& p) {
  Gatherer{p.k, shared.key_full, shared.key_empty, shared.places[0], p}
      .run<true, kHeadDimQk, 0, kChunksQk, kChunkQk>(shared.key, shared);
}

__device__ __forceinline__ void gather_values(Shared& shared, const Params& p) {
  Gatherer{p.v, shared.value_full, shared.value_empty, shared.places[1], p}
      .run<false, kHeadDimV, 0, kChunksV, kChunkV>(shared.value, shared);
}
#endif
