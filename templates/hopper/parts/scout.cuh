// The scout, where a tile's blocks of keys take trips to memory to find: one warp that finds tiles
// and their blocks ahead of the producer, which so waits for slots alone.
#pragma once

struct Scout {
  Shared& shared;
  const Params& p;

  uint32_t round = 0;  // parity of the find's
#if ATTN_VARLEN
  TileFinder finder;
#endif

  __device__ void run();
  __device__ Tile tile_of(int index);
  __device__ void report(const Tile& tile);
  template <typename Fill>
  __device__ void hand_over(const Fill& fill);
};

// `fill` writes a lane's part of the find.
template <typename Fill>
__device__ __forceinline__ void Scout::hand_over(const Fill& fill) {
  barrier_wait(shared.find_empty, round ^ 1);
  fill(shared.find);
  barrier_arrive(shared.find_full);
  round ^= 1;
}

__device__ __forceinline__ Tile Scout::tile_of(int index) {
#if ATTN_VARLEN
  return finder.find(index, p);
#elif ATTN_RANKED
  return tile_at(ranked(shared, index, p), p);
#else
  return tile_at(index, p);
#endif
}

__device__ __forceinline__ void Scout::report(const Tile& tile) {
#if ATTN_WALK
#if ATTN_SPLIT_KEYS
  const Blocks blocks = share_of(blocks_of(tile, tile.q_first, kTileQ, p), tile, p);
#else
  const Blocks blocks = blocks_of(tile, tile.q_first, kTileQ, p);
#endif
#if ATTN_SPARSE
  Walk walk(tile, blocks, shared.kept, p);
#else
  Walk walk(tile, blocks, p);
#endif
  Visits visits;
#pragma unroll 1
  for (bool last = false, begun = false; !last; begun = true) {
    const Visits following = walk.next(p.inputs);
    last = following.count == 0;
    if (begun || last) {  // a tile without a block has a find too
      hand_over([&](Find& find) {
        find.visits[threadIdx.x % 32] = visits.word;
#if ATTN_ROWS_DIFFER
        find.keepers[threadIdx.x % 32] = visits.keepers;
#endif
        if (threadIdx.x % 32 != 0) return;
        find.tile = tile;
        find.count = visits.count;
        find.last = last;
      });
    }
    visits = following;
  }
#else
  KeyRange keys{};
  blocks_of(tile, tile.q_first, kTileQ, keys, p);
  hand_over([&](Find& find) {
    if (threadIdx.x % 32 == 0) find = {tile, keys};
  });
#endif
}

#if ATTN_PERSISTENT
// Tile after tile, each when the producer calls for it; in the end one that is none.
__device__ __forceinline__ void Scout::run() {
#if ATTN_VARLEN
  const int tiles = min(*p.tile_count, p.tiles);
#else
  const int tiles = p.tiles;
#endif
  int index = blockIdx.x;
#pragma unroll 1
  for (uint32_t call = 0; index < tiles; call ^= 1) {
    report(tile_of(index));
    barrier_wait(shared.tile_called, call);
#if ATTN_TILES_COUNTED
    index = uniform(claim_tile(shared, p));
#else
    index += gridDim.x;
#endif
  }
  hand_over([&](Find& find) {
    if (threadIdx.x % 32 == 0) find.tile.b = -1;
  });
#if ATTN_COUNTER
  if (threadIdx.x % 32 == 0 && draws_tiles(p)) leave_counter(*p.counter, p.call);
#endif
}
#else
__device__ __forceinline__ void Scout::run() { report(tile_of(blockIdx.x)); }
#endif
