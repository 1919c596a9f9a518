// Shared memory: the tiles, the rings, and their barriers.
#pragma once

#if ATTN_SIDES > 1
constexpr int kQueryColumns = kChunksQk * kChunkQk, kOutputColumns = kSides * kChunksV * kChunkV;
#else
constexpr int kQueryColumns = kChunksQk * kChunkQk, kOutputColumns = kChunksV * kChunkV;
#endif
constexpr int kQueryBytes =
    chunk_bytes(64, kQueryColumns > kOutputColumns ? kQueryColumns : kOutputColumns);
constexpr int kKeyBytes = kChunksQk * chunk_bytes(kTileKv, kChunkQk);
#if ATTN_SIDES > 1
constexpr int kSideBytes = kChunksV * chunk_bytes(kTileKv, kChunkV);  // of the keys' first columns
#if ATTN_WEIGHTS_IN_KEYS
constexpr int kWeightsStride = kKeyBytes;
#else
constexpr int kWeightsStride = kChunksKv * chunk_bytes(64, kChunkKv);
#endif
#elif !ATTN_SHARE_KV
constexpr int kValueBytes = kChunksV * chunk_bytes(kTileKv, kChunkV);
#endif
#if ATTN_BIAS_SHIFTED
constexpr int kBiasTileBytes = 64 * kBiasRowBytes;
#elif ATTN_BIAS
constexpr int kBiasChunksBytes = kChunksBias * chunk_bytes(64, kChunkBias);  // as TMA brings them
constexpr int kBiasTileBytes =
    kBiasChunksBytes > 64 * kBiasRowBytes ? kBiasChunksBytes : 64 * kBiasRowBytes;
#endif
#if ATTN_BIAS
#if ATTN_MAPS > 1
constexpr int kBiasTiles = kWarpgroups / kMaps;  // both maps' scores take the same
#else
constexpr int kBiasTiles = kWarpgroups;
#endif
#endif

#if ATTN_BIAS || ATTN_VALUES_APART
// A block of which another warp than the producer's brings something. One of -1 ends.
struct BlockCall {
  Tile tile;
  int block;
};
#endif
#if ATTN_BIAS
// Of those whose biases are to be copied there is one more than slots, so that none is overwritten
// too early: a block's call comes when the one before it has its slot, of which the biases that
// were there have been read.
constexpr int kBiasCalls = kStages + 1;
#if ATTN_SCOUT
constexpr int kCopiers = 1;  // warps
#else
constexpr int kCopiers = 2;
#endif
#endif
#if ATTN_RANKED
constexpr int kRanked = ATTN_RANKED;  // tiles
#endif

#if ATTN_SIDES > 1
// What a thread's two rows have come to with a block, for the thread of the other side that has
// them too.
struct RowsSoFar {
  Reductions reductions[2];
  float factors[2];  // of the accumulator
#if ATTN_FIXED_MAX
  bool shrink;
#if ATTN_LARGE_SCORES
  float fixed_limit;
#endif
#endif
};

#endif
struct __align__(1024) Shared {
  uint8_t query[kQueryStages][ATTN_ROW_BLOCKS][kQueryBytes];  // a tile's output leaves through it
#if ATTN_MAPS > 1
  uint8_t key[kStages][kMaps][kKeyBytes];
#else
  uint8_t key[kStages][kKeyBytes];
#endif
#if !ATTN_SHARE_KV
  uint8_t value[kStages][kValueBytes];
#endif
#if ATTN_BIAS
  uint8_t bias[kStages][kBiasTiles][kBiasTileBytes];  // comes and goes with the keys
#endif
#if ATTN_SIDES > 1 && !ATTN_WEIGHTS_IN_KEYS
  uint8_t weights[kStages][kWeightsStride];  // of each slot's block
#elif ATTN_WEIGHTS_SHARED && !ATTN_WEIGHTS_IN_KEYS
  uint8_t weights[kWarpgroups][kChunksKv * chunk_bytes(64, kChunkKv)];
#endif
#if ATTN_MASK_BITS
  __align__(16) uint8_t mask[kStages][kMaskBytes];
#endif
#if ATTN_TABLE_BYTES
  __align__(16) uint8_t tables[kWarpgroups][64 * kTableBytes];
#endif
#if ATTN_STRIPS
  Strips strips[kWarpgroups][2];  // of this block and the next
#endif
#if ATTN_SIDES > 1
  RowsSoFar rows_so_far[128];
#endif
#if ATTN_TOKENS
  alignas(16) int places[kGatherers][kTileKv];  // of each warp that gathers: of the next rows
#if ATTN_LISTED_KEYS
  int listed[kStages][kTileKv];  // the keys of each slot; 0 where there is none
#endif
#elif ATTN_PAGE_ROWS
  alignas(16) int key_places[kTileKv];  // of the rows that come next
#endif
#if ATTN_PAGE_ROWS && !ATTN_SHARE_KV
  alignas(16) int value_places[kStages][kTileKv];
#endif
  uint64_t query_full[kQueryStages][ATTN_ROW_BLOCKS], query_empty[kQueryStages][ATTN_ROW_BLOCKS];
  uint64_t output_full[kQueryStages][ATTN_ROW_BLOCKS];
  uint64_t key_full[kStages], key_empty[kStages];
#if !ATTN_SHARE_KV
  uint64_t value_full[kStages], value_empty[kStages];
#endif
#if ATTN_BIAS
  uint64_t bias_called[kBiasCalls];
#endif
#if ATTN_VALUES_APART
  uint64_t value_called[kStages], value_taken[kStages];
#endif
#if ATTN_COUNTER
  uint64_t counter_open;
#endif
#if ATTN_SCOUT
  uint64_t find_full, find_empty;
#if ATTN_PERSISTENT
  uint64_t tile_called;
#endif
  Find find;  // the producer keeps what it takes
#endif
#if ATTN_SPARSE
  Kept kept;  // what the scout knows of the tile at hand
#endif
#if ATTN_RANKED
  uint64_t ranks_there;
  uint8_t ranked[kRanked];  // the last tiles, in the order in which they come
#endif
#if ATTN_BIAS
  BlockCall bias_call[kBiasCalls];  // to those who copy
#endif
#if ATTN_VALUES_APART
  BlockCall value_call[kStages];  // to the warp that brings values
#endif
  Tile tile[kQueryStages][ATTN_ROW_BLOCKS];  // whose queries these are; a batch of -1 ends
#if ATTN_WALK
  int any_visit[kQueryStages][ATTN_ROW_BLOCKS];  // a tile may have no block
  // What each slot of keys holds: a Visit, twice. Lanes read either, or the compiler would move the
  // word that they share to a uniform register, between two products.
  int visit[kStages][2];
#endif
#if ATTN_GATHER
  int apart[kStages];  // Row::apart of each slot of keys
#endif
#if ATTN_ROWS_DIFFER
  Keepers keepers[kStages];  // of each slot's block
#endif
#if ATTN_SEARCHED_LIMITS
  KeyRange tile_keys[kQueryStages][ATTN_ROW_BLOCKS];  // seen with the queries
  int2 row_keys[kWarpgroups][64];  // each row's first key, and the one behind its last
#endif
};
#if ATTN_WEIGHTS_SHARED && !ATTN_WEIGHTS_IN_KEYS
static_assert(offsetof(Shared, weights) % 1024 == 0, "a tile is swizzled by its address");
#endif
#if ATTN_WEIGHTS_IN_KEYS

// The weights of a slot's block: in the place of its keys' last columns, which are no values. Once
// the scores are there nobody reads these.
__device__ __forceinline__ uint8_t* weights_of(Shared& shared, int slot) {
  return shared.key[slot] + kSides * kSideBytes;
}
static_assert(kKeyBytes - kSides * kSideBytes >= kChunksKv * chunk_bytes(64, kChunkKv));
#elif ATTN_SIDES > 1

// The weights of a slot's block.
__device__ __forceinline__ uint8_t* weights_of(Shared& shared, int slot) {
  return shared.weights[slot];
}
#endif

#if ATTN_BIAS
__device__ __forceinline__ void init_barriers(Shared& shared, BiasLayout biases) {
#else
__device__ __forceinline__ void init_barriers(Shared& shared) {
#endif
  for (int stage = 0; stage < kQueryStages; ++stage) {
    for (int i = 0; i < ATTN_ROW_BLOCKS; ++i) {
      barrier_init(shared.query_full[stage][i], 1);
      barrier_init(shared.query_empty[stage][i], 1);
#if ATTN_SIDES > 1
      barrier_init(shared.output_full[stage][i], 4 * kSides);  // one arrival a warp
#else
      barrier_init(shared.output_full[stage][i], 4);  // one arrival a warp
#endif
    }
  }
  for (int i = 0; i < kStages; ++i) {
#if ATTN_BIAS && ATTN_PAGE_ROWS
    // By the producer and each of its lanes, and twice by each lane of who copy biases.
    barrier_init(shared.key_full[i], 1 + 32 + (copies_biases(biases) ? 2 * 32 * kCopiers : 0));
#elif ATTN_BIAS
    // By the producer, and twice by each lane of who copy biases.
    barrier_init(shared.key_full[i], copies_biases(biases) ? 1 + 2 * 32 * kCopiers : 1);
#endif
#if ATTN_TOKENS && ATTN_SHARE_KV
    // By each lane of who gather; the mask.
    barrier_init(shared.key_full[i], kGatherers * 32 + 1);
#elif ATTN_TOKENS
    // By each lane of who gathers; the mask.
    barrier_init(shared.key_full[i], 32 + 1);
#endif
#if !ATTN_BIAS && !ATTN_TOKENS && ATTN_PAGE_ROWS
    barrier_init(shared.key_full[i], 1 + 32);  // by the producer, and by each of its lanes
#elif !ATTN_BIAS && !ATTN_TOKENS
    barrier_init(shared.key_full[i], 1);
#endif
#if ATTN_BIAS
    // By each lane, or one arrival a warp.
    barrier_init(shared.key_empty[i], (copies_biases(biases) ? 32 : 1) * 4 * kWarpgroups);
#else
    barrier_init(shared.key_empty[i], 4 * kWarpgroups);  // one arrival a warp
#endif
#if ATTN_ROW_BY_ROW && !ATTN_SHARE_KV
    barrier_init(shared.value_full[i], 32);
#elif !ATTN_SHARE_KV
    barrier_init(shared.value_full[i], 1);
#endif
#if !ATTN_SHARE_KV
    barrier_init(shared.value_empty[i], 4 * kWarpgroups);
#endif
#if ATTN_VALUES_APART
#if ATTN_PAGE_ROWS
    barrier_init(shared.value_called[i], 32);  // by each lane of the producer
#else
    barrier_init(shared.value_called[i], 1);
#endif
    barrier_init(shared.value_taken[i], 32);  // by each lane of who brings them
#endif
  }
#if ATTN_BIAS
  for (int i = 0; i < kBiasCalls; ++i) barrier_init(shared.bias_called[i], 1);
#endif
#if ATTN_COUNTER
  barrier_init(shared.counter_open, 1);
#endif
#if ATTN_SCOUT
  barrier_init(shared.find_full, 32);   // by each lane of the scout
  barrier_init(shared.find_empty, 32);  // and of the producer
#if ATTN_PERSISTENT
  barrier_init(shared.tile_called, 1);
#endif
#endif
#if ATTN_RANKED
  barrier_init(shared.ranks_there, 1);
#endif
  publish_barriers();
}
