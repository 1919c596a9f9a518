// What of a tile a warpgroup does.
#pragma once

struct Work {
  Blocks blocks;  // of this warpgroup's rows
#if ATTN_FAR
  int far;  // blocks before these, whose values a state holds
#endif
#if ATTN_TRIMMED
#if ATTN_ASCENDING
  int after;  // blocks that are loaded for other warpgroups alone, and come after these
#else
  int before, after;  // blocks that are loaded for other warpgroups alone, on either side of these
#endif
#endif
};

// Where a warpgroup stands in its blocks: at one of them, or before the first. A variable of its
// own: of a member of Consumer the compiler makes a loop that is 1 % slower.
struct Cursor {
  const Blocks blocks;
  int number;
#if ATTN_NEAREST_FIRST
  int left;
  __device__ __forceinline__ bool has_more() const { return left > 0; }
  __device__ __forceinline__ int after() const { return blocks.after(number); }
  __device__ __forceinline__ void next() {
    number = after();
    --left;
  }
#else
  __device__ __forceinline__ bool has_more() const { return blocks.has(after()); }
  __device__ __forceinline__ int after() const { return Blocks::after(number); }
  __device__ __forceinline__ void next() { number = after(); }
#endif
  __device__ __forceinline__ int block() const { return number; }
  __device__ __forceinline__ bool is_full() const { return blocks.is_full(number); }
};

#if ATTN_TRIMMED
// Of the blocks that are loaded those of the warpgroup's rows.
__device__ __forceinline__ Work trimmed(const Blocks& own, const Blocks& loaded) {
  Work work;
  work.blocks = trim(own, loaded);
#if ATTN_ASCENDING
  work.after = loaded.end - work.blocks.end;
#else
  work.before = loaded.end - work.blocks.end;
  work.after = work.blocks.begin - loaded.begin;
#endif
  return work;
}

#endif
#if ATTN_SEARCHED_LIMITS
// `keys` of all rows that share the tile, and of this warpgroup's first and last row: both ends
// only rise from row to row.
#if ATTN_SPLIT_KEYS
__device__ __forceinline__ Work work_of(const KeyRange& keys, int2 first, int2 last,
                                        const Tile& tile, const Params& p) {
  const Blocks loaded = share_of(blocks_of(keys), tile, p);
#else
__device__ __forceinline__ Work work_of(const KeyRange& keys, int2 first, int2 last) {
  const Blocks loaded = blocks_of(keys);
#endif
#if ATTN_TRIMMED
  return trimmed(blocks_of(KeyRange{first.x, last.y, last.x, first.y}), loaded);
#else
  return {loaded};
#endif
}
#elif ATTN_TRIMMED
__device__ __forceinline__ Work work_of(const Tile& tile, int warpgroup, const Params& p) {
#if ATTN_FAR
  Blocks loaded = blocks_of(tile, tile.q_first, kTileQ, p);
  const int far = far_blocks(loaded, tile, p);
  loaded.begin = far;
#elif ATTN_SPLIT_KEYS
  const Blocks loaded = share_of(blocks_of(tile, tile.q_first, kTileQ, p), tile, p);
#else
  const Blocks loaded = blocks_of(tile, tile.q_first, kTileQ, p);
#endif
  const Blocks own = blocks_of(tile, first_row_of(tile, warpgroup), 64, p);
#if ATTN_FAR
  Work work = trimmed(own, loaded);
  work.far = far;
  return work;
#else
  return trimmed(own, loaded);
#endif
}
#else
__device__ __forceinline__ Work work_of(const Tile& tile, int, const Params& p) {
#if ATTN_FAR
  Work work{blocks_of(tile, tile.q_first, kTileQ, p)};
  work.far = far_blocks(work.blocks, tile, p);
  work.blocks.begin = work.far;
  return work;
#elif ATTN_SPLIT_KEYS
  return {share_of(blocks_of(tile, tile.q_first, kTileQ, p), tile, p)};
#else
  return {blocks_of(tile, tile.q_first, kTileQ, p)};
#endif
}
#endif
