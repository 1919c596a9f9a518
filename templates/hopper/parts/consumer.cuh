// A consumer warpgroup: 64 query rows against all their keys, tile after tile.
#pragma once

#if ATTN_FAR
struct FarSlots;

#endif
struct Consumer {
  Shared& shared;
  const int warpgroup;
  const Params& p;
#if ATTN_BIAS
  BiasLayout bias_layout;  // set by who makes it
#endif
  const int thread = threadIdx.x % 128, lane = thread % 32;

  RingSlot<kQueryStages> query_slot;
  RingSlot<kStages> key_slot, value_slot;
  // Asked as soon as the slot is known: the answer takes some thirty cycles.
#if ATTN_SHARE_KV
  bool key_there = false;
#else
  bool key_there = false, value_there = false;
#endif

  // Operands: descriptors of their first slots, and the weights.
  const uint64_t queries, keys;
#if ATTN_WEIGHTS_SHARED
  const uint64_t weights;
#else
  Weights weights;
#endif
  const uint64_t values;
  Scores scores;
  Output output;
  Tile tile;
  // The thread's two rows: lanes 4 r .. 4 r + 3 of warp w have rows 16 w + r and 16 w + r + 8.
  Row rows[2];
  Reductions reductions[2];
#if ATTN_LARGE_SCORES && ATTN_FIXED_MAX
  float fixed_limit;  // of weights while the maximum is kept
#endif
#if ATTN_PARTS_IN_TURN
  Reductions of_far_keys[2];  // the same for all parts of a tile
#endif
#if ATTN_BIAS_SHIFTED
  int tile_row = 0;  // the warpgroup's first
#elif ATTN_BIAS
  uint32_t bias_begins = 0;  // where the rows' begin in a tile of biases: 16 bits each, in elements
#endif
#if ATTN_LEVEL
  bool is_level = false;  // the block at hand, where a row's pairs add the same to their products
  float added[2] = {};    // what they add
#endif
#if ATTN_STRIPS
  int strip_turn = 0;  // which of the two the block at hand has
#endif
#if ATTN_STRIPS_BY_HEAD && ATTN_KEY_STRIPS > 1
  float next_of_key[kHeadRounds][kKeyStrips];
#elif ATTN_STRIPS_BY_HEAD
  ATTN_KEY_VALUE next_of_key[kHeadRounds];
#elif ATTN_KEY_STRIPS > 1
  float next_of_key[kKeyRounds][kKeyStrips];
#elif ATTN_KEY_STRIPS
  ATTN_KEY_VALUE next_of_key[kKeyRounds];
#endif
#if ATTN_DISTANCE_STRIP
  ATTN_DISTANCE_VALUE next_of_distance[kDistanceRounds];
  int first_distance = 0;  // from rows[0] to where key 0 is as far as from the warpgroup's last row
#endif

  __device__ Consumer(Shared& memory, int index, const Params& params);
  __device__ void run();

  // A tile: its rows, their keys, their results.
  __device__ void attend();
  __device__ int first_row() const;
  __device__ bool has_row(int r) const;
  __device__ void place_rows();
  __device__ void begin_rows();
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
  __device__ void place_biases();
#endif
#if ATTN_ROW_CONSTANTS
  __device__ void set_row_constants();
#endif
#if ATTN_FAR
  __device__ void add_far_keys(int count);
#if ATTN_FAR_SUMS
  template <typename Query>
  __device__ void sum_far_keys(int count, FarSlots& slots, const Query& query);
#endif
  template <typename Query>
  __device__ void multiply_state(FarSlots& slots, const Query& query);
#endif
  __device__ void recall_tile();
  __device__ void save_rows(const RowValues (&values)[2]);
#if ATTN_TABLE_BYTES
  __device__ void start_tables();
  __device__ void finish_tables();
#endif
#if ATTN_COLUMN_INPUTS
  __device__ void prefetch_columns() const;
#endif
#if ATTN_OUTPUT_COLUMNS
#if ATTN_VALUE_PARTS > 1
  __device__ int first_column() const { return tile.part * kHeadDimV; }
#elif ATTN_SIDES > 1
  __device__ int first_column() const { return side() * kHeadDimV; }
#else
  __device__ int first_column() const { return 0; }
#endif
  __device__ void finish_columns(int r, const RowValues& values);
#endif
  __device__ void finish_rows();
#if ATTN_SPLIT_KEYS
  __device__ Part* part_of(int r) const;
  __device__ void leave_split();
#endif

  // Its blocks of keys, one after the other.
#if ATTN_WALK
  __device__ Visit visit_of_slot() const;
#endif
#if !ATTN_SKIP
  __device__ void start_next(Cursor& cursor);
#endif
#if ATTN_INTRA_OVERLAP
  __device__ void weigh_beside_output(const Cursor& cursor);
#endif
#if ATTN_SIDES > 1
  __device__ Factors take_rows();
  __device__ void leave_rows(const Factors& factors);
  __device__ void add_values(const Cursor& cursor, const Factors& factors);
  __device__ void weigh_for_both(Cursor& cursor, bool first);
  __device__ void let_other_weigh(Cursor& cursor);
#endif
  __device__ void visit_blocks(Cursor cursor);

  // The steps of a block.
#if ATTN_PING_PONG || ATTN_SIDES > 1
  __device__ void take_turn() const;
  __device__ void pass_turn() const;
#endif
#if ATTN_MASK_AHEAD
  __device__ void start_scores(const Cursor& cursor);
#else
  __device__ void start_scores();
#endif
  __device__ void start_output();
  __device__ void end_output();
#if ATTN_BIAS
  __device__ void find_biases(const Cursor& cursor);
#endif
#if ATTN_VALUE_STRIPS
  __device__ void compute_strips(int block);
#endif
#if ATTN_KEY_WORDS
  __device__ void fill_key_words(Strips& strips, int block);
#endif
#if ATTN_STRIPS
  __device__ void fill_strips(const Cursor& cursor);
#endif
#if ATTN_MASK_BITS
  __device__ void find_mask();
#endif
#if ATTN_LEVEL
  __device__ void find_level(const Cursor& cursor);
#endif
#if ATTN_ROWS_DIFFER
  __device__ bool place_ends();
#endif
#if ATTN_BIAS
  template <typename Biases>
  __device__ Factors weigh_with(int kv_first, bool first, bool full);
#endif
  __device__ Factors weigh_block(const Cursor& cursor, bool first);
  __device__ void hand_over_weights();
#if ATTN_CLEARS_VALUES
  __device__ void clear_behind(int block);
#endif
  __device__ void release_key();
  __device__ void release_value();
#if ATTN_TRIMMED
  __device__ void pass_over(int count);
#endif
#if ATTN_MAPS > 1

  // Of the thread's index, so that the compiler can compute it anew where registers are short.
  __device__ __forceinline__ int map() const { return threadIdx.x / 128 % kMaps; }
#elif ATTN_SIDES > 1

  __device__ __forceinline__ int side() const { return threadIdx.x / 128 % kSides; }
  __device__ __forceinline__ void both_sides_sync() const {
    named_sync(1 + 2 * kWarpgroups + warpgroup / kSides, 128 * kSides);
  }
#endif
};

__device__ __forceinline__ Consumer::Consumer(Shared& memory, int index, const Params& params)
    : shared(memory),
      warpgroup(index),
      p(params),
#if ATTN_SIDES > 1
      queries(kept(row_descriptor<kChunkQk>(memory.query[0][index / kSides]))),
#else
      queries(kept(row_descriptor<kChunkQk>(memory.query[0][index]))),
#endif
#if ATTN_MAPS > 1
      keys(kept(row_descriptor<kChunkQk>(memory.key[0][map()]))),
#else
      keys(kept(row_descriptor<kChunkQk>(memory.key[0]))),
#endif
#if ATTN_SIDES > 1
      weights(row_descriptor<kChunkKv>(weights_of(memory, 0))),
#elif ATTN_WEIGHTS_SHARED
      weights(row_descriptor<kChunkKv>(memory.weights[index])),
#endif
#if ATTN_SIDES > 1
      values(kept(column_descriptor<kChunkV>(memory.key[0] + side() * kSideBytes))) {
#elif ATTN_SHARE_KV
      values(kept(column_descriptor<kChunkV>(memory.key[0]))) {
#else
      values(kept(column_descriptor<kChunkV>(memory.value[0]))) {
#endif
}

#if ATTN_QUERY_SHIFT
// Queries times a power of two, which is exact: the near score saturates the square of a product
// at 1.
__device__ __forceinline__ void scale_queries(uint8_t* query) {
  constexpr float kFactor = 1.0f / (1ull << ATTN_QUERY_SHIFT);
#pragma unroll 1
  for (int i = threadIdx.x % 128 * 16; i < kQueryBytes; i += 2048) {
    uint4& elements = *reinterpret_cast<uint4*>(query + i);
    const auto scaled = [](uint32_t pair) {
      return pack(low_half(pair) * kFactor, high_half(pair) * kFactor);
    };
    elements =
        uint4{scaled(elements.x), scaled(elements.y), scaled(elements.z), scaled(elements.w)};
  }
}

#endif
// The tile's keys, from where its rows begin to where their results can be finished.
__device__ __forceinline__ void Consumer::attend() {
#if ATTN_SEARCHED_LIMITS
  begin_rows();
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all rows' keys are there
  const int2(&row_keys)[64] = shared.row_keys[warpgroup];
  const KeyRange tile_keys = read_by_lane_0(shared.tile_keys[query_slot.index][ATTN_ROW_BLOCK]);
#if ATTN_SPLIT_KEYS
  const Work work = work_of(tile_keys, row_keys[0], row_keys[63], tile, p);
#else
  const Work work = work_of(tile_keys, row_keys[0], row_keys[63]);
#endif
#elif !ATTN_WALK
  const Work work = work_of(tile, warpgroup, p);
#endif
#if !ATTN_WALK
  // The compiler would rather compute the limits again, between two products.
#if ATTN_NEAREST_FIRST
  const Blocks blocks{work.blocks.begin, work.blocks.end, uniform(work.blocks.full_begin),
                      uniform(work.blocks.full_end), work.blocks.own};
#else
  const Blocks blocks{work.blocks.begin, work.blocks.end, uniform(work.blocks.full_begin),
                      uniform(work.blocks.full_end)};
#endif
#endif
#if ATTN_QUERY_SHIFT
#if ATTN_SIDES > 1
  if (side() == 0) scale_queries(shared.query[query_slot.index][ATTN_ROW_BLOCK]);
  fence_async_proxy();
  both_sides_sync();
#else
  scale_queries(shared.query[query_slot.index][ATTN_ROW_BLOCK]);
  fence_async_proxy();
  named_sync(1 + kWarpgroups + warpgroup, 128);
#endif
#endif
#if ATTN_TRIMMED && !ATTN_ASCENDING
  pass_over(work.before);
#endif
#if !ATTN_SEARCHED_LIMITS
  begin_rows();
#endif
#if ATTN_FAR
  add_far_keys(work.far);
#endif
#if ATTN_WALK
  const bool any = read_by_lane_0(shared.any_visit[query_slot.index][ATTN_ROW_BLOCK]);
  visit_blocks({Visit{}.with_more(any)});
#elif ATTN_NEAREST_FIRST
  visit_blocks({blocks, blocks.before_first(), blocks.count()});
#else
  visit_blocks({blocks, blocks.before_first()});
#endif
#if ATTN_TABLE_BYTES
  wait_for_copies();  // of a tile without a key nobody has
#endif
#if ATTN_TRIMMED
  pass_over(work.after);
#endif
}

// Until the producer leaves a tile that is none.
__device__ __forceinline__ void Consumer::run() {
#if ATTN_PING_PONG
  if (warpgroup == kWarpgroups - 1) pass_turn();  // the first turn
#endif
#pragma unroll 1
  while (true) {
    barrier_wait(shared.query_full[query_slot.index][ATTN_ROW_BLOCK], query_slot.parity);
    tile = read_by_lane_0(shared.tile[query_slot.index][ATTN_ROW_BLOCK]);
#if ATTN_PERSISTENT
    if (tile.b < 0) break;
#endif
    attend();
#if ATTN_SPLIT_KEYS
    if (splits_of(tile, p) > 1) {
      leave_split();
    } else {
      finish_rows();
    }
#else
    finish_rows();
#endif
    query_slot.advance();
#if !ATTN_PERSISTENT
    break;
#endif
  }
#if ATTN_PING_PONG
  if (warpgroup == 0) take_turn();  // the turn that nobody takes
#endif
}
