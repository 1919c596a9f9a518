// The steps of a block of keys: its two products, its weights, and its slots of the rings.
#pragma once

#if ATTN_PING_PONG || ATTN_SIDES > 1
#if ATTN_SIDES > 1
// Sides take turns at weighing.
#else
// Warpgroups take turns on the tensor cores: one multiplies while the others compute weights.
#endif
__device__ __forceinline__ void Consumer::take_turn() const { named_sync(1 + warpgroup, 256); }
__device__ __forceinline__ void Consumer::pass_turn() const {
  named_arrive(1 + (warpgroup + 1 == kWarpgroups ? 0 : warpgroup + 1), 256);
}

#endif
// S = Q K^T of the block in the key slot, once it is there; asynchronous.
#if ATTN_MASK_AHEAD
__device__ __forceinline__ void Consumer::start_scores(const Cursor& cursor) {
  const bool full = cursor.is_full();
  if (!full) begin_scores(scores, cursor.block() * kTileKv + lane % 4 * 2, rows, p.inputs);
#else
__device__ __forceinline__ void Consumer::start_scores() {
#endif
  uint64_t query = queries + query_slot.index * (ATTN_ROW_BLOCKS * kQueryBytes / 16);
#if ATTN_HEAD_DIM_QK > 128
  // Adds 0, but the compiler cannot know. A query that is the same for all blocks has its
  // descriptors built before the loop; they do not fit the uniform registers, and two R2UR bring
  // each of the others back between two products.
  query += key_slot.index >> 31;
#endif
#if ATTN_MAPS > 1
  uint64_t key = keys + key_slot.index * (kMaps * kKeyBytes / 16);
#else
  uint64_t key = keys + key_slot.index * (kKeyBytes / 16);
#endif
  pin(key);
  if (!key_there) barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_ROW_BY_ROW
  fence_async_proxy();  // threads copied the keys
#endif
#if ATTN_PING_PONG
  take_turn();
#endif
  pin(scores);
  wgmma_fence();
#if ATTN_MASK_AHEAD
  multiply_keys(scores, query, key, !full);
#else
  multiply_keys(scores, query, key);
#endif
  wgmma_commit();
}

// O += P V of the block in the value slot, once it is there; asynchronous.
__device__ __forceinline__ void Consumer::start_output() {
#if ATTN_SHARE_KV
  uint64_t value = values + value_slot.index * (kKeyBytes / 16);  // there since its keys are
  pin(value);
#else
  uint64_t value = values + value_slot.index * (kValueBytes / 16);
  pin(value);
  if (!value_there) barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
#if ATTN_ROW_BY_ROW
  fence_async_proxy();
#endif
#endif
  pin(output);
  wgmma_fence();
#if ATTN_SIDES > 1
  multiply_values(output, weights + value_slot.index * (kWeightsStride / 16), value);
#else
  multiply_values(output, weights, value);
#endif
  wgmma_commit();
}

// Waits for it, and for whatever else runs.
__device__ __forceinline__ void Consumer::end_output() {
  wgmma_wait<0>();
  pin(output);
  release_value();
}

#if ATTN_BIAS
// Of the block in the key slot, once its keys are there.
__device__ __forceinline__ void Consumer::find_biases(const Cursor& cursor) {
#if ATTN_MAPS > 1
  uint8_t* const tile = shared.bias[key_slot.index][warpgroup / kMaps];  // of both maps
#else
  uint8_t* const tile = shared.bias[key_slot.index][warpgroup];
#endif
#if ATTN_BIAS_SHIFTED
  const int first = thread / 32 * 16;  // the warp's first row of the tile
  const BiasRows biases = bias_rows(tile_row + first, cursor.block() * kTileKv, rows[0], p);
  uint8_t* const part = tile + first * kBiasRowBytes;
  if (!__all_sync(0xffffffffu, within_rows(biases))) {
    clamp_biases(part, biases);
    __syncwarp();
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane / 4 + 8 * r;
    rows[r].bias = part + row * kBiasRowBytes + place_in_row(biases.row(row));
  }
#else
  rows[0].bias = tile + (bias_begins & 0xffff) * kBiasBytes;
  rows[1].bias = tile + (bias_begins >> 16) * kBiasBytes;
#endif
}

#endif
#if ATTN_VALUE_STRIPS
// What the pairs of a block share, each thread its own: a step ahead, since it may take a trip to
// memory. Any row's query serves for a distance: that of rows[0], with a key as far from it.
__device__ __forceinline__ void Consumer::compute_strips(int block) {
#if ATTN_STRIPS_BY_HEAD
#pragma unroll
  for (int i = 0; i < kHeadRounds; ++i) {
    const int place = 128 * i + thread;  // in the strips of all heads
    Row row = rows[0];
    row.h = row.h_kv * kGroup + min(place / kTileKv, kGroup - 1);
    const int kv_idx = max(min(block * kTileKv + place % kTileKv, row.seq_kv - 1), 0);
#if ATTN_KEY_STRIPS > 1
#pragma unroll
    for (int strip = 0; strip < kKeyStrips; ++strip) {
      next_of_key[i][strip] = value_of_key(strip, row, kv_idx, p.inputs);
    }
#else
    next_of_key[i] = value_of_key(row, kv_idx, p.inputs);
#endif
  }
#elif ATTN_KEY_STRIPS
#pragma unroll
  for (int i = 0; i < kKeyRounds; ++i) {
    const int key = block * kTileKv + 128 * i + thread;
    const int kv_idx = max(min(key, rows[0].seq_kv - 1), 0);
#if ATTN_KEY_STRIPS > 1
#pragma unroll
    for (int strip = 0; strip < kKeyStrips; ++strip) {
      next_of_key[i][strip] = value_of_key(strip, rows[0], kv_idx, p.inputs);
    }
#else
    next_of_key[i] = value_of_key(rows[0], kv_idx, p.inputs);
#endif
  }
#endif
#if ATTN_DISTANCE_STRIP
  const int kv_first = block * kTileKv + first_distance + thread;
#pragma unroll
  for (int i = 0; i < kDistanceRounds; ++i) {
    next_of_distance[i] = value_of_distance(rows[0], kv_first + 128 * i, p.inputs);
  }
#endif
}

#endif
#if ATTN_KEY_WORDS
// What the mask reads of the block's keys.
__device__ __forceinline__ void Consumer::fill_key_words(Strips& strips, int block) {
#pragma unroll
  for (int i = 0; i < kKeyRounds; ++i) {
    const int column = 128 * i + thread;
    const int kv_idx = max(min(block * kTileKv + column, rows[0].seq_kv - 1), 0);
    int words[kKeyWords];
    load_key_words(words, rows[0], kv_idx, p.inputs);
#pragma unroll
    for (int i = 0; i < kKeyWords; ++i) {
      if (column < kTileKv) strips.key_words[i][column] = words[i];
    }
  }
#pragma unroll
  for (int i = 0; i < kKeyWords; ++i) {
    rows[0].key_words[i] = rows[1].key_words[i] = strips.key_words[i] + lane % 4 * 2;
  }
}

#endif
#if ATTN_STRIPS
// Of the block in the key slot. Ids of keys serve the mask alone: none where all pairs exist.
__device__ __forceinline__ void Consumer::fill_strips(const Cursor& cursor) {
  const int block = cursor.block();
#if ATTN_VALUE_STRIPS && ATTN_WALK
  compute_strips(block);  // which one it is was not known
#elif !ATTN_VALUE_STRIPS && !ATTN_ROWS_DIFFER
  if (cursor.is_full()) return;
#endif
  // Others may still read those of the block before.
  Strips& strips = shared.strips[warpgroup][strip_turn ^= 1];
#if ATTN_STRIPS_BY_HEAD
#pragma unroll
  for (int i = 0; i < kHeadRounds; ++i) {
    const int place = 128 * i + thread, head = place / kTileKv, column = place % kTileKv;
#if ATTN_KEY_STRIPS > 1
#pragma unroll
    for (int strip = 0; strip < kKeyStrips; ++strip) {
      if (head < kGroupRows) strips.of_key[strip][head][column] = next_of_key[i][strip];
    }
#else
    if (head < kGroupRows) strips.of_key[head][column] = next_of_key[i];
#endif
  }
#if ATTN_KEY_STRIPS > 1
  rows[0].of_key = rows[1].of_key = strips.of_key[0][lane / 4 % kGroupRows] + lane % 4 * 2;
#else
  rows[0].of_key = rows[1].of_key = strips.of_key[lane / 4 % kGroupRows] + lane % 4 * 2;
#endif
#elif ATTN_KEY_STRIPS > 1
#pragma unroll
  for (int i = 0; i < kKeyRounds; ++i) {
    const int column = 128 * i + thread;
#pragma unroll
    for (int strip = 0; strip < kKeyStrips; ++strip) {
      if (column < kTileKv) strips.of_key[strip][column] = next_of_key[i][strip];
    }
  }
  rows[0].of_key = rows[1].of_key = strips.of_key[0] + lane % 4 * 2;
#elif ATTN_KEY_STRIPS
#pragma unroll
  for (int i = 0; i < kKeyRounds; ++i) {
    const int column = 128 * i + thread;
    if (column < kTileKv) strips.of_key[column] = next_of_key[i];
  }
  rows[0].of_key = rows[1].of_key = strips.of_key + lane % 4 * 2;
#endif
#if ATTN_DISTANCE_STRIP
#pragma unroll
  for (int i = 0; i < kDistanceRounds; ++i) {
    const int distance = 128 * i + thread;
    if (distance < kDistances) strips.of_distance[0][distance] = next_of_distance[i];
    if (distance < kDistances && distance > 0) {
      strips.of_distance[1][distance - 1] = next_of_distance[i];
    }
  }
  // Row r of 64 is 63 - r before the last; 8 rows further are 8 distances less.
  const int first = 63 - thread / 32 * 16 - lane / 4 + lane % 4 * 2;
  rows[0].of_distance = strips.of_distance[first % 2] + first / 2 * 2;
  rows[1].of_distance = rows[0].of_distance - 8;
#endif
#if ATTN_KEY_WORDS && ATTN_VALUE_STRIPS && !ATTN_ROWS_DIFFER
  if (!cursor.is_full()) fill_key_words(strips, block);
#elif ATTN_KEY_WORDS
  fill_key_words(strips, block);
#endif
  named_sync(1 + kWarpgroups + warpgroup, 128);
#if !ATTN_WALK && ATTN_VALUE_STRIPS
  compute_strips(cursor.after());
#endif
}

#endif
#if ATTN_MASK_BITS
// Of the block in the key slot: read only if not all of its pairs exist.
__device__ __forceinline__ void Consumer::find_mask() {
  const auto* const words = reinterpret_cast<const uint32_t*>(shared.mask[key_slot.index]);
#if ATTN_PACKED_HEADS
  const int q_first = tile.q_first / kGroupRows;
#else
  const int q_first = tile.q_first;
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) rows[r].bits = words + (rows[r].q_idx - q_first) * kMaskWords;
#if ATTN_LISTED_KEYS
  rows[0].listed = rows[1].listed = shared.listed[key_slot.index] + lane % 4 * 2;
#endif
}

#endif
#if ATTN_LEVEL
// Whether each of the warp's rows adds the same to all products of the block, and what: asked while
// these are on their way.
__device__ __forceinline__ void Consumer::find_level(const Cursor& cursor) {
  const int kv_first = cursor.block() * kTileKv + lane % 4 * 2;
  const int kv_last = kv_first + kTileKv - 7;  // the thread's
  const bool same = cursor.is_full() && adds_the_same(rows[0], kv_first, kv_last, p.inputs) &&
                    adds_the_same(rows[1], kv_first, kv_last, p.inputs);
  is_level = __all_sync(0xffffffffu, same);
  if (!is_level) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if ATTN_SCORE_COLUMN
    added[r] = score_of(0, rows[r], 0, kv_first, p.inputs);
#else
    added[r] = score_of(0, rows[r], kv_first, p.inputs);
#endif
  }
}

#endif
#if ATTN_ROWS_DIFFER
// Of the block in the key slot: a row whose query does not keep it has no key there. Whether all of
// the warp's rows keep it.
__device__ __forceinline__ bool Consumer::place_ends() {
  const Keepers keepers = shared.keepers[key_slot.index];
  bool all = true;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = ATTN_KEEPER * 64 + thread / 32 * 16 + lane / 4 + 8 * r;  // of the tile
#if ATTN_PACKED_HEADS
    const bool keeps = (keepers >> row / kGroupRows / kCellQueries & 1) != 0;
#else
    const bool keeps = (keepers >> row / kCellQueries & 1) != 0;
#endif
    rows[r].end = keeps ? rows[r].seq_kv : 0;
    all = all && keeps;
  }
  return __all_sync(0xffffffffu, all);
}

#endif
#if ATTN_BIAS
template <typename Biases>
__device__ __forceinline__ Factors Consumer::weigh_with(int kv_first, bool first, bool full) {
  return weigh<Biases>(scores, first, full, kv_first, rows, p.inputs,
#if ATTN_LEVEL
                       is_level, added,
#endif
#if ATTN_LARGE_SCORES && ATTN_FIXED_MAX
                       fixed_limit,
#endif
                       reductions, shared.query[query_slot.index][ATTN_ROW_BLOCK],
#if ATTN_MAPS > 1
                       shared.key[key_slot.index][map()]);
#else
                       shared.key[key_slot.index]);
#endif
}

#endif
// Scores to weights, in place. `first`: of the tile.
__device__ __forceinline__ Factors Consumer::weigh_block(const Cursor& cursor, bool first) {
#if ATTN_GATHER
  rows[0].apart = rows[1].apart = shared.apart[key_slot.index];
  const int kv_first = cursor.block() * kBlockKv + lane % 4 * 2;
#else
  const int kv_first = cursor.block() * kTileKv + lane % 4 * 2;
#endif
#if ATTN_MASK_BITS
  find_mask();
#endif
#if ATTN_ROWS_DIFFER
  const bool full = place_ends() && cursor.is_full();
#else
  const bool full = cursor.is_full();
#endif
#if ATTN_BIAS_SHIFTED
  return weigh_with<PitchedBiases<false>>(kv_first, first, full);
#elif ATTN_BIAS
  if (bias_layout == BiasLayout::kSwizzled) {
    return weigh_with<SwizzledBiases>(kv_first, first, full);
  }
  if (bias_layout == BiasLayout::kPairs) {
    return weigh_with<PitchedBiases<true>>(kv_first, first, full);
  }
  return weigh_with<PitchedBiases<false>>(kv_first, first, full);
#elif ATTN_LEVEL && ATTN_LARGE_SCORES
  return weigh(scores, first, full, kv_first, rows, p.inputs, is_level, added, fixed_limit,
               reductions,
#elif ATTN_LEVEL
  return weigh(scores, first, full, kv_first, rows, p.inputs, is_level, added, reductions,
#elif ATTN_LARGE_SCORES && ATTN_FIXED_MAX
  return weigh(scores, first, full, kv_first, rows, p.inputs, fixed_limit, reductions,
#else
  return weigh(scores, first, full, kv_first, rows, p.inputs, reductions,
#endif
#if !ATTN_BIAS
               shared.query[query_slot.index][ATTN_ROW_BLOCK],
#if ATTN_MAPS > 1
               shared.key[key_slot.index][map()]);
#else
               shared.key[key_slot.index]);
#endif
#endif
}

// The weights become the second product's operand.
__device__ __forceinline__ void Consumer::hand_over_weights() {
#if ATTN_WEIGHTS_SHARED
#if ATTN_POSITIVE_PART
  take_positive_part(scores);
#endif
#if ATTN_WEIGHTS_IN_KEYS
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all warps have read the keys
#endif
#if ATTN_SIDES > 1
  store_fragments<kChunkKv>(weights_of(shared, value_slot.index), scores);
#else
  store_fragments<kChunkKv>(shared.weights[warpgroup], scores);
#endif
  fence_async_proxy();
  __syncwarp();  // a warp's rows are read for that warp alone
#else
  pack_weights(weights, scores);
#endif
}

#if ATTN_CLEARS_VALUES
#if ATTN_GATHER
// Values of keys from `first` to `end` become zero: what lies behind a sequence's last key, which
// may be NaN, comes with its last block, and a weight of zero would not hide it.
__device__ __forceinline__ void clear_values(uint8_t* value, int first, int end) {
#else
#if ATTN_PAGE_SIZE
// Values of keys from `first` on become zero: what else is in a sequence's last page, which may be
// NaN, comes with its last block, and a weight of zero would not hide it.
#else
// Values of keys from `first` on become zero: those of the next sequence, which may be NaN, come
// with the last block of this one, and a weight of zero would not hide them.
#endif
__device__ __forceinline__ void clear_values(uint8_t* value, int first) {
#endif
  constexpr int kRowBytes = kChunkV * kElementBytes;
#pragma unroll 1
  for (int chunk = 0; chunk < kChunksV; ++chunk) {
    uint8_t* const rows = value + chunk * chunk_bytes(kTileKv, kChunkV);
#pragma unroll 1
#if ATTN_GATHER
    for (int i = first * kRowBytes + threadIdx.x % 128 * 16; i < end * kRowBytes; i += 2048) {
#else
    for (int i = first * kRowBytes + threadIdx.x % 128 * 16; i < kTileKv * kRowBytes; i += 2048) {
#endif
      *reinterpret_cast<uint4*>(rows + i) = uint4{0, 0, 0, 0};
    }
  }
}

#if ATTN_PAGE_SIZE
// The block of a sequence's last keys may hold what lies behind them.
#else
// The block of a sequence's last keys may hold those of the next.
#endif
#if ATTN_SPARSE
// All lanes vote whether it does: a branch that were a lane's own would part the warp between two
// products.
#endif
__device__ __forceinline__ void Consumer::clear_behind(int block) {
#if ATTN_GATHER && ATTN_VARLEN
  const int first = tile.seq_kv - block * kBlockKv;
#elif ATTN_GATHER
  const int first = p.seq_kv - block * kBlockKv;
#endif
#if ATTN_GATHER
  if (!__any_sync(0xffffffffu, first < kBlockKv)) return;
  // The last block is the first of two, or has come twice.
  const int end = rows[0].apart > 0 ? kTileKv : kBlockKv;
#if ATTN_SHARE_KV
  clear_values(shared.key[value_slot.index], max(first, 0), end);  // keys that the mask leaves out
#else
  barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
  clear_values(shared.value[value_slot.index], max(first, 0), end);
#endif
#else
#if ATTN_VARLEN
  const int first = tile.seq_kv - block * kTileKv;
#else
  const int first = p.seq_kv - block * kTileKv;
#endif
#if ATTN_SPARSE
  if (!__any_sync(0xffffffffu, first < kTileKv)) return;
#else
  if (first >= kTileKv) return;
#endif
#if ATTN_SIDES > 1
  clear_values(shared.key[value_slot.index] + side() * kSideBytes, max(first, 0));
#elif ATTN_SHARE_KV
  clear_values(shared.key[value_slot.index], max(first, 0));  // keys that the mask leaves out
#else
  barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
  clear_values(shared.value[value_slot.index], max(first, 0));
#endif
#endif
  fence_async_proxy();
  named_sync(1 + kWarpgroups + warpgroup, 128);
}

#endif
#if ATTN_SHARE_KV
// The slot is free once its values are read too.
__device__ __forceinline__ void Consumer::release_key() {
  key_slot.advance();
  key_there = barrier_test(shared.key_full[key_slot.index], key_slot.parity);
}

__device__ __forceinline__ void Consumer::release_value() {
#if ATTN_BIAS || ATTN_WALK || ATTN_TOKENS
  __syncwarp();  // all lanes have read what came with the keys
#endif
#if ATTN_BIAS
  // Where threads write there next each lane answers for what it has read.
  const bool arrives = lane == 0 || copies_biases(bias_layout);
  if (arrives) barrier_arrive(shared.key_empty[value_slot.index]);
#else
  if (lane == 0) barrier_arrive(shared.key_empty[value_slot.index]);
#endif
  value_slot.advance();
}
#else
__device__ __forceinline__ void Consumer::release_key() {
#if ATTN_BIAS || ATTN_WALK || ATTN_TOKENS
  __syncwarp();  // all lanes have read what came with the keys
#endif
#if ATTN_BIAS
  // Where threads write there next each lane answers for what it has read.
  const bool arrives = lane == 0 || copies_biases(bias_layout);
  if (arrives) barrier_arrive(shared.key_empty[key_slot.index]);
#else
  if (lane == 0) barrier_arrive(shared.key_empty[key_slot.index]);
#endif
  key_slot.advance();
  key_there = barrier_test(shared.key_full[key_slot.index], key_slot.parity);
}

__device__ __forceinline__ void Consumer::release_value() {
  if (lane == 0) barrier_arrive(shared.value_empty[value_slot.index]);
  value_slot.advance();
  value_there = barrier_test(shared.value_full[value_slot.index], value_slot.parity);
}
#endif
#if ATTN_TRIMMED

// Blocks that only other warpgroups need: waited for, since a slot's arrivals are counted by use.
__device__ __forceinline__ void Consumer::pass_over(int count) {
#pragma unroll 1
  for (; count > 0; --count) {
    barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_PING_PONG
    take_turn();
    pass_turn();
#endif
    release_key();
#if !ATTN_SHARE_KV
    barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
#endif
    release_value();
  }
}
#endif
