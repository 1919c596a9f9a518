// The producer: one warp that keeps the rings of key and value tiles full by TMA. All its lanes
// walk along, so that addresses stay in uniform registers; one lane issues.
#pragma once

struct Producer {
  Shared& shared;
  const CUtensorMap &map_q, &map_k, &map_v;
#if ATTN_BIAS
  const CUtensorMap& map_bias;
#endif
  const Params& p;
  const bool issues = threadIdx.x % 32 == 0;

  RingSlot<kQueryStages> query_slot;
  RingSlot<kStages> key_slot, value_slot;

#if ATTN_VARLEN
  TileFinder finder;
#endif
  Tile tile;
  int h_kv;
  int next;  // the index of the tile after this one; none: p.tiles
#if ATTN_BIAS
  int bias_row, bias_plane;  // the tile's first row, and the matrix that it is in
#endif
#if ATTN_SEARCHED_LIMITS
  KeyRange tile_keys;  // of all its rows
#endif
#if ATTN_WALK
  bool any_visit;   // a tile may have no block
  Visit announced;  // what the consumers are told of the next keys
#endif
#if ATTN_GATHER
  int beside;  // the second block of the next values
#endif

  __device__ void run();
  __device__ void begin_tile(const Tile& found);
  __device__ Blocks find_blocks(const Tile& of);
#if ATTN_FINDS_AHEAD
  template <typename Find>
  __device__ void load_tile(Walk& walk, const Find& find_next);
#else
  __device__ void load_tile();
#endif
#if ATTN_TILES_COUNTED
  __device__ void claim_next();
#endif

  __device__ void load_queries();
  __device__ void load_key(int block);
  __device__ void load_value(int block);
#if ATTN_BIAS
  __device__ void load_biases(uint64_t& full, int block);
#endif
#if ATTN_FAR
  template <typename Load>
  __device__ void fill(bool in_values, const Load& load);
#if ATTN_FAR_SUMS
  __device__ void load_far_key(bool in_values, int block);
#endif
  __device__ void load_state(int chunks);
  __device__ void load_far_keys(int count);
#endif
};

#if ATTN_TILES_COUNTED
// Whether a block may draw a tile beyond its first. Who opens the counter, who draws and who leaves
// must agree, or blocks hang.
__device__ __forceinline__ bool draws_tiles(const Params& p) {
  return p.tiles > static_cast<int>(gridDim.x);
}

#if ATTN_COUNTER
// By another warp: the producer has no registers for it.
__device__ __forceinline__ void open_counter(Shared& shared, const Params& p) {
  if (threadIdx.x % 32 != 0 || !draws_tiles(p)) return;
  if (blockIdx.x == 0) clear_counter(*p.counter, p.call);
  wait_for_counter(*p.counter, p.call);
  barrier_arrive(shared.counter_open);
}

#endif
// Asked for late, under the last loads: whoever finishes first gets the next tile.
__device__ __forceinline__ void Producer::claim_next() {
  if (!draws_tiles(p)) return;
#if ATTN_COUNTER
  barrier_wait(shared.counter_open, 0);  // of one phase: true ever after
  if (issues) next = gridDim.x + atomicAdd(&p.counter->next, 1);
#else
  if (issues) next = gridDim.x + atomicAdd(p.next_tile, 1);
#endif
}

#endif
__device__ __forceinline__ Blocks Producer::find_blocks(const Tile& of) {
#if ATTN_SEARCHED_LIMITS
  tile_keys = {};
  return blocks_of(of, of.q_first, kTileQ, tile_keys, p);
#else
  return blocks_of(of, of.q_first, kTileQ, p);
#endif
}

#if ATTN_WALK
// In the order in which the consumers ask: the next block's keys before this block's values. A
// visit says whether another follows, so the walk is a block ahead of the loads.
#if ATTN_FINDS_AHEAD
// The next tile is found, and asks memory for its walk, before the last values wait for their slot:
// with two long steps on their way at most, consumers would else wait for it.
template <typename Find>
__device__ __forceinline__ void Producer::load_tile(Walk& walk, const Find& find_next) {
#else
__device__ __forceinline__ void Producer::load_tile() {
  Walk walk(tile, find_blocks(tile), p);
#endif
#if ATTN_SPARSE
  walk.begin();
#endif
  Visit visit = walk.next(p.inputs);
  Visit following = walk.next(p.inputs);
  any_visit = visit.exists();
  announced = visit.with_more(following.exists());
  if (any_visit) load_key(visit.block());
  load_queries();
#if ATTN_FINDS_AHEAD
  bool claimed = false;
#endif
#pragma unroll 1
  while (visit.exists()) {
    const Visit after = walk.next(p.inputs);
    announced = following.with_more(after.exists());
    if (following.exists()) load_key(following.block());
#if ATTN_FINDS_AHEAD
    if (!after.exists() && !claimed) {
      claim_next();
      claimed = true;
    }
    if (!following.exists()) find_next();
#elif ATTN_TILES_COUNTED
    if (!following.exists()) claim_next();
#endif
#if ATTN_GATHER
    beside = visit.second;
#endif
    load_value(visit.block());
    visit = following;
    following = after;
  }
#if ATTN_TILES_COUNTED
  if (!any_visit) claim_next();
#endif
#if ATTN_FINDS_AHEAD
  if (!any_visit) find_next();
#endif
}
#else
// In the order in which the consumers ask: the next block's keys before this block's values.
__device__ __forceinline__ void Producer::load_tile() {
#if ATTN_FAR
  Blocks blocks = find_blocks(tile);
  const int far = far_blocks(blocks, p);
#else
  const Blocks blocks = find_blocks(tile);
#endif
#if ATTN_FAR && !ATTN_FAR_SUMS
  if (far == 0 && !blocks.none()) load_key(blocks.first());
#else
  if (!blocks.none()) load_key(blocks.first());
#endif
  load_queries();
#if ATTN_FAR
  load_far_keys(far);
  if (far > 0) {
    blocks.begin = far;
    if (!blocks.none()) load_key(far);
  }
#endif
#pragma unroll 1
  for (int block = blocks.first(); blocks.has(block); block = Blocks::after(block)) {
#if ATTN_TILES_COUNTED
    if (block == blocks.last()) {
      claim_next();
    } else {
      load_key(Blocks::after(block));
    }
#else
    if (block != blocks.last()) load_key(Blocks::after(block));
#endif
    load_value(block);
  }
#if ATTN_TILES_COUNTED
  if (blocks.none()) claim_next();
#endif
}
#endif

__device__ __forceinline__ void Producer::begin_tile(const Tile& found) {
  tile = found;
  h_kv = tile.h / kGroup;
  next = p.tiles;
#if ATTN_BIAS
  bias_row = tile.q_first;
  bias_plane = bias_matrix(row_at(tile.b, tile.h, tile.q_first, p), p.inputs);
#endif
}

// Tile after tile; in the end one that is none, for each consumer warpgroup.
__device__ __forceinline__ void Producer::run() {
#if ATTN_VARLEN
  const int tiles = min(*p.tile_count, p.tiles);
#else
  const int tiles = p.tiles;
#endif
  int index = blockIdx.x;
#if ATTN_FINDS_AHEAD
  Tile found;
  Walk walk;
  const auto find = [&] {
    if (index >= tiles) return;
#if ATTN_RANKED
    found = tile_at(ranked(shared, index, p), p);
#else
    found = tile_at(index, p);
#endif
    walk = Walk(found, find_blocks(found), p);
  };
  find();
#pragma unroll 1
  while (index < tiles) {
    begin_tile(found);
    load_tile(walk, [&] {
      index = uniform(next);
      find();
    });
  }
#else
#pragma unroll 1
  while (index < tiles) {
#if ATTN_VARLEN
    begin_tile(finder.find(index, p));
#elif ATTN_RANKED
    begin_tile(tile_at(ranked(shared, index, p), p));
#else
    begin_tile(tile_at(index, p));
#endif
#if ATTN_PERSISTENT && !ATTN_LONGEST_FIRST
    next = index + gridDim.x;
#endif
    load_tile();
    index = uniform(next);
  }
#endif
#if ATTN_COUNTER
  if (issues && draws_tiles(p)) leave_counter(*p.counter, p.call);
#endif
#if ATTN_PERSISTENT
#pragma unroll 1
  for (int i = 0; i < kWarpgroups; ++i) {
    barrier_wait(shared.query_empty[query_slot.index][i], query_slot.parity ^ 1);
    if (issues) {
      shared.tile[query_slot.index][i].b = -1;
      barrier_arrive(shared.query_full[query_slot.index][i]);
    }
    __syncwarp();
  }
#endif
}
