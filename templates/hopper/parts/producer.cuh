#if ATTN_PAGE_ROWS && ATTN_VALUES_APART
// The producer: one warp that keeps the ring of key tiles full, row by row, and calls for their
// values.
#elif ATTN_PAGE_ROWS && ATTN_SHARE_KV
// The producer: one warp that keeps the ring of key tiles full, row by row.
#elif ATTN_PAGE_ROWS
// The producer: one warp that keeps the rings of key and value tiles full, row by row.
#elif ATTN_VALUES_APART
// The producer: one warp that keeps the ring of key tiles full by TMA, and calls for their values.
// One lane issues; of a block of keys each lane brings what one page has.
#elif ATTN_PAGE_SIZE && !ATTN_ROW_BY_ROW
// The producer: one warp that keeps the rings of key and value tiles full by TMA. One lane issues;
// of a block of keys, or of values, each lane brings what one page has.
#else
// The producer: one warp that keeps the rings of key and value tiles full by TMA. All its lanes
// walk along, so that addresses stay in uniform registers; one lane issues.
#endif
#pragma once

struct Producer {
  Shared& shared;
  const TensorMaps& maps;
  const Params& p;
#if ATTN_BIAS
  const BiasLayout bias_layout;
#endif
  const bool issues = threadIdx.x % 32 == 0;

  RingSlot<kQueryStages> query_slot;
#if ATTN_SHARE_KV
  RingSlot<kStages> key_slot;
#elif ATTN_VALUES_APART
  RingSlot<kStages> key_slot, call_slot;
#else
  RingSlot<kStages> key_slot, value_slot;
#endif
#if ATTN_BIAS
  RingSlot<kBiasCalls> call_slot;
#endif

  Tile tile;
  int h_kv;
#if ATTN_SCOUT
  uint32_t find_round = 0;  // its parity
#else
#if ATTN_VARLEN
  TileFinder finder;
#endif
  int next;  // the index of the tile after this one; none: p.tiles
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
  int bias_row, bias_plane;  // the tile's first query, and the matrix that it is in
#endif
#if ATTN_PAGE_ROWS
  PageTable page_table;  // of the tile
  RowPages row_pages;
#endif
#if ATTN_MASK_BITS && !ATTN_TOKENS
  const uint4* tile_mask;  // of its first block of keys
#endif
#if ATTN_SEARCHED_LIMITS
  KeyRange tile_keys;  // of all its rows
#endif
#if ATTN_WALK
  Visits visits;     // of the find at hand
  int taken;         // of these
  bool last_visits;  // of the tile
  bool any_visit;    // a tile may have no block
  Visit announced;   // what the consumers are told of the next keys
#endif
#if ATTN_GATHER
  int beside;  // the second block of the next values
#endif

  __device__ void run();
#if ATTN_SCOUT
  __device__ bool take_find();
#if ATTN_PERSISTENT
  __device__ void call_for_tile();
#endif
#endif
#if ATTN_WALK
  __device__ int next_word();
  __device__ Visit next_visit();
#elif !ATTN_TOKENS
  __device__ Blocks find_blocks() const;
#endif
  __device__ void begin_tile();
  __device__ void load_tile();
#if ATTN_PARTS_IN_TURN
  __device__ bool has_next_part() const;
#endif

  __device__ void load_queries();
#if ATTN_PAGE_ROWS
  __device__ void find_pages(int block);
#if !ATTN_GATHER
  __device__ void look_ahead();
#endif
#endif
#if !ATTN_TOKENS
  __device__ void load_key(int block);
#if ATTN_VALUES_APART
  __device__ void call_for_values(int block);
#elif !ATTN_SHARE_KV
  __device__ void load_value(int block);
#endif
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
  __device__ void load_biases(uint64_t& full, int block);
#endif
#if ATTN_BIAS
  __device__ void call_for_biases(int block);
#endif
#if ATTN_MASK_BITS && !ATTN_TOKENS
  __device__ void load_mask(uint64_t& full, int block);
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

#if ATTN_SCOUT
// What the scout found next; false: no tile is left.
__device__ __forceinline__ bool Producer::take_find() {
  barrier_wait(shared.find_full, find_round);
  const Find& find = shared.find;
  tile = uniform(find.tile);
#if ATTN_SEARCHED_LIMITS
  tile_keys = find.keys;
#endif
#if ATTN_WALK
  visits = {find.visits[threadIdx.x % 32], uniform(find.count)};
#if ATTN_ROWS_DIFFER
  visits.keepers = find.keepers[threadIdx.x % 32];
#endif
  last_visits = uniform(find.last);
  taken = 0;
#endif
  barrier_arrive(shared.find_empty);
  find_round ^= 1;
#if ATTN_WALK && ATTN_PERSISTENT
  if (last_visits && visits.count <= kCallAhead) call_for_tile();
#endif
  return tile.b >= 0;
}

#if ATTN_PERSISTENT
__device__ __forceinline__ void Producer::call_for_tile() {
  if (issues) barrier_arrive(shared.tile_called);
}

#endif
#endif
#if ATTN_WALK
// The tile's next block, as a word; none: -1.
__device__ __forceinline__ int Producer::next_word() {
  if (taken == visits.count) {
    if (last_visits) return -1;
    take_find();
  }
  const int word = __shfl_sync(0xffffffffu, visits.word, taken++);
#if ATTN_PERSISTENT
  if (last_visits && visits.count - taken == kCallAhead) call_for_tile();
#endif
  return word;
}

#if ATTN_GATHER
// The next two blocks; the last of an odd number by itself; then none.
__device__ __forceinline__ Visit Producer::next_visit() {
  const int word = next_word();
  if (word < 0) return kNoVisit;
  const int second = next_word();
  if (second < 0) return {word & ~Visit::kFull, -1};
  return {word & (second | ~Visit::kFull), second >> Visit::kShift};
}
#elif ATTN_ROWS_DIFFER
__device__ __forceinline__ Visit Producer::next_visit() {
  const int word = next_word();
  return word < 0 ? kNoVisit : Visit{word, __shfl_sync(0xffffffffu, visits.keepers, taken - 1)};
}
#else
__device__ __forceinline__ Visit Producer::next_visit() { return {next_word()}; }
#endif

// In the order in which the consumers ask: the next block's keys before this block's values. Of a
// block's keys they are told whether another follows, so that visits are taken one further ahead.
__device__ __forceinline__ void Producer::load_tile() {
  Visit visit = kNoVisit, following = kNoVisit;
#pragma unroll 1
  for (int asked = 1;; ++asked) {
    const Visit after = next_visit();
    announced = following.with_more(after.exists());
    if (following.exists()) load_key(following.block());
    if (asked == 2) {
      any_visit = following.exists();
      load_queries();
    }
    if (visit.exists()) {
#if ATTN_GATHER
      beside = visit.second;
#endif
#if !ATTN_SHARE_KV && !ATTN_VALUES_APART
      load_value(visit.block());
#endif
    } else if (asked > 2) {
      return;
    }
    visit = following;
    following = after;
  }
}
#elif ATTN_TOKENS
// Its keys and values others gather.
__device__ __forceinline__ void Producer::load_tile() { load_queries(); }
#else
__device__ __forceinline__ Blocks Producer::find_blocks() const {
#if ATTN_SEARCHED_LIMITS && ATTN_SPLIT_KEYS
  return share_of(blocks_of(tile_keys), tile, p);
#elif ATTN_SEARCHED_LIMITS
  return blocks_of(tile_keys);
#elif ATTN_SPLIT_KEYS
  return share_of(blocks_of(tile, tile.q_first, kTileQ, p), tile, p);
#else
  return blocks_of(tile, tile.q_first, kTileQ, p);
#endif
}

#if ATTN_VALUES_APART
// In the order in which the consumers ask.
#else
// In the order in which the consumers ask: the next block's keys before this block's values.
#endif
__device__ __forceinline__ void Producer::load_tile() {
#if ATTN_FAR
  Blocks blocks = find_blocks();
  const int far = far_blocks(blocks, tile, p);
#else
  const Blocks blocks = find_blocks();
#endif
#if ATTN_PARTS_IN_TURN
  if ((far == 0 || tile.part == 0) && !blocks.none()) load_key(blocks.first());
#elif ATTN_FAR && !ATTN_FAR_SUMS
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
#if ATTN_SCOUT && ATTN_PERSISTENT
  int left = blocks.end - blocks.begin;
  if (left <= kCallAhead) call_for_tile();
#endif
#pragma unroll 1
#if ATTN_NEAREST_FIRST
  for (int block = blocks.first(), i = blocks.count(); i > 0; block = blocks.after(block), --i) {
#else
  for (int block = blocks.first(); blocks.has(block); block = Blocks::after(block)) {
#endif
#if ATTN_TILES_COUNTED && !ATTN_SCOUT
#if ATTN_PARTS_IN_TURN
    if (block != blocks.last()) {
      load_key(blocks.after(block));
    } else if (!has_next_part()) {
      next = claim_tile(shared, p);  // late: whoever finishes first gets the next tile
    }
#else
    if (block == blocks.last()) {
      next = claim_tile(shared, p);  // late: whoever finishes first gets the next tile
    } else {
      load_key(blocks.after(block));
    }
#endif
#else
    if (block != blocks.last()) load_key(blocks.after(block));
#endif
#if !ATTN_SHARE_KV && !ATTN_VALUES_APART
    load_value(block);
#endif
#if ATTN_SCOUT && ATTN_PERSISTENT
    if (--left == kCallAhead) call_for_tile();
#endif
  }
#if ATTN_TILES_COUNTED && !ATTN_SCOUT
#if ATTN_PARTS_IN_TURN
  if (blocks.none() && !has_next_part()) next = claim_tile(shared, p);
#else
  if (blocks.none()) next = claim_tile(shared, p);
#endif
#endif
}
#endif
#if ATTN_PARTS_IN_TURN

// Whether the tile's rows come once more, for the next part of the values.
__device__ __forceinline__ bool Producer::has_next_part() const {
  return p.parts_apart == 1 && tile.part + 1 < kValueParts;
}
#endif

__device__ __forceinline__ void Producer::begin_tile() {
  h_kv = tile.h / kGroup;
#if ATTN_PAGE_ROWS
  page_table = page_table_of(tile, p);
#endif
#if ATTN_PAGE_ROWS && !ATTN_GATHER
  row_pages.block = -1;
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
#if ATTN_PACKED_HEADS
  bias_row = tile.q_first / kGroupRows;
#else
  bias_row = tile.q_first;
#endif
  bias_plane = bias_matrix(row_at(tile.b, tile.h, bias_row, p), p.inputs);
#endif
#if ATTN_MASK_BITS && ATTN_PACKED_HEADS && !ATTN_TOKENS
  const Row row = row_at(tile.b, tile.h, tile.q_first / kGroupRows, p);
#elif ATTN_MASK_BITS && !ATTN_TOKENS
  const Row row = row_at(tile.b, tile.h, tile.q_first, p);
#endif
#if ATTN_MASK_BITS && !ATTN_TOKENS
  tile_mask = p.inputs.attn_mask_bits + pair_entry(row.q_idx, 0, row) * (kMaskBytes / 16);
#endif
}

// Tile after tile; in the end one that is none, for each consumer warpgroup.
__device__ __forceinline__ void Producer::run() {
#if ATTN_SCOUT && ATTN_PERSISTENT
#pragma unroll 1
  while (take_find()) {
    begin_tile();
    load_tile();
  }
#elif ATTN_SCOUT
  take_find();
  begin_tile();
  load_tile();
#else
#if ATTN_VARLEN
  const int tiles = min(*p.tile_count, p.tiles);
#else
  const int tiles = p.tiles;
#endif
  int index = blockIdx.x;
#pragma unroll 1
  while (index < tiles) {
#if ATTN_VARLEN
    tile = finder.find(index, p);
#else
    tile = tile_at(index, p);
#endif
    begin_tile();
#if ATTN_PERSISTENT && !ATTN_LONGEST_FIRST
    next = index + gridDim.x;
#else
    next = p.tiles;
#endif
#if ATTN_PARTS_IN_TURN
#pragma unroll 1
    for (;; ++tile.part) {
      load_tile();
      if (!has_next_part()) break;
    }
#else
    load_tile();
#endif
    index = uniform(next);
  }
#if ATTN_FAR && ATTN_VARLEN
  wait_for_stream();  // though no tile asked for states, the next call must not overtake them
#endif
#if ATTN_COUNTER
  if (issues && draws_tiles(p)) leave_counter(*p.counter, p.call);
#endif
#endif
#if ATTN_BIAS
  if (copies_biases(bias_layout)) call_for_biases(-1);
#endif
#if ATTN_VALUES_APART
  call_for_values(-1);
#endif
#if ATTN_PERSISTENT
#pragma unroll 1
  for (int i = 0; i < ATTN_ROW_BLOCKS; ++i) {
    barrier_wait(shared.query_empty[query_slot.index][i], query_slot.parity ^ 1);
    if (issues) {
      shared.tile[query_slot.index][i].b = -1;
      barrier_arrive(shared.query_full[query_slot.index][i]);
    }
    __syncwarp();
  }
#endif
}
