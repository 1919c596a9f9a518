// A consumer warpgroup: 64 query rows against all their keys.
#pragma once

using Scores = float[kTileKv / 8][2][2];
using Output = float[kHeadDimV / 8][2][2];
#if !ATTN_WEIGHTS_SHARED
using Weights = uint32_t[kTileKv / 16][4];  // the A operands of the second product
#endif

// S = Q K^T of one block; asynchronous.
__device__ __forceinline__ void multiply_keys(Scores& scores, uint64_t query, uint64_t key) {
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    // 16 columns are 32 bytes; descriptors count in 16 bytes.
    constexpr int kSteps = kChunkQk / 16;
    const int chunk = step / kSteps, within = step % kSteps * 2;
    wgmma_scores(scores, query + chunk * (chunk_bytes(64, kChunkQk) / 16) + within,
                 key + chunk * (chunk_bytes(kTileKv, kChunkQk) / 16) + within, step > 0);
  }
}

// O += P V of one block; asynchronous.
#if ATTN_WEIGHTS_SHARED
__device__ __forceinline__ void multiply_values(Output& output, uint64_t weights, uint64_t value) {
#pragma unroll
  for (int step = 0; step < kTileKv / 16; ++step) {
    constexpr int kSteps = kChunkKv / 16;
    wgmma_output(output,
                 weights + step / kSteps * (chunk_bytes(64, kChunkKv) / 16) + step % kSteps * 2,
                 value + step * (chunk_bytes(16, kChunkV) / 16), 1);
  }
}
#else
__device__ __forceinline__ void multiply_values(Output& output, const Weights& weights,
                                                uint64_t value) {
#pragma unroll
  for (int step = 0; step < kTileKv / 16; ++step) {
    wgmma_output(output, weights[step], value + step * (chunk_bytes(16, kChunkV) / 16), 1);
  }
}

__device__ __forceinline__ void pack_weights(Weights& weights, const Scores& scores) {
#pragma unroll
  for (int step = 0; step < kTileKv / 16; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float(&pair)[2] = scores[2 * step + i / 2][i % 2];
      weights[step][i] = pack(pair[0], pair[1]);
    }
  }
}
#endif

// What a block of keys does to a row's accumulator.
struct Factors {
  float row[2] = {1, 1};
#if ATTN_FIXED_MAX
  bool shrink = false;  // whether any factor of the warp is not 1
#endif
};

#if !ATTN_EXPONENTIAL
template <bool kMasked>
__device__ __forceinline__ void absorb_rows(Scores& scores, int kv_first, const Row (&rows)[2],
                                            const Inputs& in, Reductions (&reductions)[2],
                                            Factors& factors) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if !ATTN_ROW_FREE
    factors.row[r] =
#endif
        absorb<kMasked>(scores, r, kv_first, rows[r], in, reductions[r]);
  }
}
#endif

// Scores of one block to weights. `query` and `key` are the block's operands, still in place.
__device__ __forceinline__ Factors weigh(Scores& scores, bool first, bool full, int kv_first,
                                         const Row (&rows)[2], const Inputs& in,
                                         Reductions (&reductions)[2], const uint8_t* query,
                                         const uint8_t* key) {
  Factors factors;
#if ATTN_EXPONENTIAL
#if ATTN_FIXED_MAX
  // A row without a pair yet has no maximum to keep: likely where the mask cuts blocks, and
  // otherwise no weight fits.
  const bool started = reductions[0].max_score > -INFINITY && reductions[1].max_score > -INFINITY;
  if (!first && (full || __all_sync(0xffffffffu, started))) {
    Reductions grown[2] = {reductions[0], reductions[1]};
    // One branch around all of it: within, scores and exponentials run side by side.
    const bool fits = full ? absorb_fixed<false>(scores, kv_first, rows, in, grown)
                           : absorb_fixed<true>(scores, kv_first, rows, in, grown);
    if (__all_sync(0xffffffffu, fits)) {
      reductions[0] = grown[0];
      reductions[1] = grown[1];
      return factors;
    }
    recompute_scores(scores, query, key);  // PV goes on: it shares no register with this
  }
#endif
#if ATTN_AFFINE_SCORE
  const float shift[2] = {0, 0};
  if (full) {
    finish_scores<false>(scores, kv_first, rows, shift, in);
  } else {
    finish_scores<true>(scores, kv_first, rows, shift, in);
  }
#else
  if (full) {
    finish_scores<false>(scores, kv_first, rows, in);
  } else {
    finish_scores<true>(scores, kv_first, rows, in);
  }
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) factors.row[r] = absorb(scores, r, rows[r], in, reductions[r]);
#else
  if (full) {
    absorb_rows<false>(scores, kv_first, rows, in, reductions, factors);
  } else {
    absorb_rows<true>(scores, kv_first, rows, in, reductions, factors);
  }
#endif
#if ATTN_FIXED_MAX
  factors.shrink = true;
#endif
  return factors;
}

#if !ATTN_ROW_FREE
__device__ __forceinline__ void rescale(Output& output, const Factors& factors) {
#if ATTN_FIXED_MAX
  if (!factors.shrink) return;
#endif
#pragma unroll
  for (int j = 0; j < kHeadDimV / 8; ++j) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      output[j][r][0] *= factors.row[r];
      output[j][r][1] *= factors.row[r];
    }
  }
}
#endif

#if ATTN_VARLEN
// The first `rows` rows of a tile of output to global memory, sixteen bytes at a time, from its
// column `column` on.
__device__ __forceinline__ void store_rows(const uint8_t* out, int q_first, int rows, int head,
                                           int column, const Params& p) {
  constexpr int kGroups = kHeadDimV / 8;
#pragma unroll 1
  for (int i = threadIdx.x % 128; i < rows * kGroups; i += 128) {
    const int row = i / kGroups, group = i % kGroups;
    const int first = column + 8 * group;
#if ATTN_VALUE_PARTS > 1
    if (first >= kOutputDim) continue;
#endif
    const int64_t at = (q_first + row) * p.o_stride_seq + head * p.o_stride_head + first;
    *reinterpret_cast<uint4*>(p.o + at * kElementBytes) =
        *reinterpret_cast<const uint4*>(out + swizzled<kChunkV>(64, row, group));
  }
}

// Values of keys from `first` on become zero: those of the next sequence, which may be NaN, come
// with the last block of this one, and a weight of zero would not hide them.
__device__ __forceinline__ void clear_values(uint8_t* value, int first) {
  constexpr int kRowBytes = kChunkV * kElementBytes;
#pragma unroll 1
  for (int chunk = 0; chunk < kChunksV; ++chunk) {
    uint8_t* const rows = value + chunk * chunk_bytes(kTileKv, kChunkV);
#pragma unroll 1
    for (int i = first * kRowBytes + threadIdx.x % 128 * 16; i < kTileKv * kRowBytes; i += 2048) {
      *reinterpret_cast<uint4*>(rows + i) = uint4{0, 0, 0, 0};
    }
  }
}
#endif

// The rows' results: values saved per row, the output through shared memory to TMA. `q_row` is the
// thread's first row, which may lie beyond the last.
__device__ __forceinline__ void finish_rows(uint8_t* out, uint64_t& out_empty,
                                            const CUtensorMap& map_o, int warpgroup,
                                            const Tile& tile, int q_row, const Row (&rows)[2],
                                            Output& output, const Reductions (&reductions)[2],
                                            const Params& p) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const RowValues values = row_values(complete(reductions[r]), rows[r], p.inputs);
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][r][0] = output_of(output[j][r][0], values, rows[r], p.inputs);
      output[j][r][1] = output_of(output[j][r][1], values, rows[r], p.inputs);
    }
#if ATTN_VARLEN
    bool stored = threadIdx.x % 4 == 0 && q_row + 8 * r < tile.seq_q;
#if ATTN_VALUE_PARTS > 1
    stored = stored && tile.part == 0;
#endif
    if (stored) store_saves(p.saves, values, rows[r], p.inputs);
#elif ATTN_VALUE_PARTS > 1
    const bool stored = threadIdx.x % 4 == 0 && q_row + 8 * r < p.seq_q && tile.part == 0;
    if (stored) store_saves(p.saves, values, rows[r], p.inputs);
#elif ATTN_PACKED_HEADS
    if (threadIdx.x % 4 == 0 && q_row + 8 * r < p.seq_q * kGroup) {
      store_saves(p.saves, values, rows[r], p.inputs);
    }
#else
    if (threadIdx.x % 4 == 0 && q_row + 8 * r < p.seq_q) {
      store_saves(p.saves, values, rows[r], p.inputs);
    }
#endif
  }
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all warps have read their queries
  store_fragments<kChunkV>(out, output);
  fence_async_proxy();
  named_sync(1 + kWarpgroups + warpgroup, 128);
#if ATTN_VALUE_PARTS > 1
  const int column = tile.part * kHeadDimV;
#endif
#if ATTN_VARLEN
  const int q_first = tile.q_begin + tile.q_first + 64 * warpgroup;
  const int left = tile.seq_q - tile.q_first - 64 * warpgroup;
  if (left < 64) {
    // The next sequence's rows follow in memory: TMA would write them too.
#if ATTN_VALUE_PARTS > 1
    store_rows(out, q_first, left, tile.h, column, p);
#else
    store_rows(out, q_first, left, tile.h, 0, p);
#endif
    named_sync(1 + kWarpgroups + warpgroup, 128);
  }
  if (threadIdx.x % 128 == 0) {
    if (left >= 64) {
#pragma unroll
      for (int chunk = 0; chunk < kChunksV; ++chunk) {
#if ATTN_VALUE_PARTS > 1
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), column + chunk * kChunkV, q_first,
                  tile.h, 0);
#else
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), chunk * kChunkV, q_first, tile.h,
                  0);
#endif
      }
    }
    tma_store_wait();
    barrier_arrive(out_empty);
  }
#else
  if (threadIdx.x % 128 == 0) {
#if ATTN_PACKED_HEADS
    const int q_first = (tile.q_first + 64 * warpgroup) / kGroup;
#else
    const int q_first = tile.q_first + 64 * warpgroup;
#endif
    if (q_first < p.seq_q) {
#pragma unroll
      for (int chunk = 0; chunk < kChunksV; ++chunk) {
#if ATTN_VALUE_PARTS > 1
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), column + chunk * kChunkV, q_first,
                  tile.h, tile.b);
#elif ATTN_PACKED_HEADS
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), chunk * kChunkV, tile.h, q_first,
                  tile.b);
#else
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), chunk * kChunkV, q_first, tile.h,
                  tile.b);
#endif
      }
    }
    tma_store_wait();
    barrier_arrive(out_empty);
  }
#endif
  __syncwarp();  // keeps the warps converged for the next tile's wgmma
}

#if ATTN_PING_PONG
// Warpgroups take turns on the tensor cores: one multiplies while the others compute weights.
__device__ __forceinline__ void take_turn(int warpgroup) { named_sync(1 + warpgroup, 256); }
__device__ __forceinline__ void pass_turn(int warpgroup) {
  named_arrive(1 + (warpgroup + 1 == kWarpgroups ? 0 : warpgroup + 1), 256);
}
#endif

// What of a tile a warpgroup does.
struct Work {
  Tile tile;
#if !ATTN_WALK
  Blocks blocks;  // of this warpgroup's rows
#endif
#if ATTN_TRIMMED
  int before, after;  // blocks that are loaded for other warpgroups alone, on either side of these
#endif
};

#if ATTN_SEARCHED_LIMITS
// `keys` of all rows that share the tile, and of this warpgroup's first and last row: both ends
// only rise from row to row.
__device__ __forceinline__ Work work_of(const Tile& tile, const KeyRange& keys, int2 first,
                                        int2 last) {
  Work work;
  work.tile = tile;
#if ATTN_TRIMMED
  const Blocks loaded = blocks_of(keys);
  work.blocks = trim(blocks_of(KeyRange{first.x, last.y, last.x, first.y}), loaded);
  work.before = loaded.end - work.blocks.end;
  work.after = work.blocks.begin - loaded.begin;
#else
  work.blocks = blocks_of(keys);
#endif
  return work;
}
#elif ATTN_VARLEN
__device__ __forceinline__ Work work_of(const Tile& tile, int warpgroup, const Params& p) {
  Work work;
  work.tile = tile;
#if ATTN_TRIMMED
  const Blocks loaded = blocks_of(tile, tile.q_first, kTileQ, p);
  work.blocks = trim(blocks_of(tile, tile.q_first + 64 * warpgroup, 64, p), loaded);
  work.before = loaded.end - work.blocks.end;
  work.after = work.blocks.begin - loaded.begin;
#elif !ATTN_WALK
  work.blocks = blocks_of(tile, tile.q_first, kTileQ, p);
#endif
  return work;
}
#else
__device__ __forceinline__ Work work_at(int index, int warpgroup, const Params& p) {
  Work work;
  work.tile = tile_at(index, p);
#if ATTN_TRIMMED
  const Blocks loaded = blocks_of(work.tile, work.tile.q_first, kTileQ, p);
  const int q_first = work.tile.q_first + 64 * warpgroup;
  work.blocks = trim(blocks_of(work.tile, q_first, 64, p), loaded);
  work.before = loaded.end - work.blocks.end;
  work.after = work.blocks.begin - loaded.begin;
#elif !ATTN_WALK
  work.blocks = blocks_of(work.tile, work.tile.q_first, kTileQ, p);
#endif
  return work;
}
#endif

__device__ __forceinline__ void consume(Shared& shared, const CUtensorMap& map_o, int warpgroup,
                                        const Params& p) {
  const int thread = threadIdx.x % 128;
  const int lane = thread % 32;
  RingSlot<kQueryStages> query_slot;
  RingSlot<kStages> key_slot, value_slot;

  const uint64_t queries = kept(row_descriptor<kChunkQk>(shared.query[0][warpgroup]));
  const uint64_t keys = kept(row_descriptor<kChunkQk>(shared.key[0]));
  const uint64_t values = kept(column_descriptor<kChunkV>(shared.value[0]));
#if ATTN_WEIGHTS_SHARED
  const uint64_t weights = row_descriptor<kChunkKv>(shared.weights[warpgroup]);
#else
  Weights weights;
#endif
  Scores scores;
  Output output;
  Row rows[2];
  Reductions reductions[2];

  const auto first_row = [&](const Tile& tile) {
    return tile.q_first + 64 * warpgroup + thread / 32 * 16 + lane / 4;
  };
  const auto begin_rows = [&](const Tile& tile) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // Rows beyond the last one repeat it, so that inputs are read in range; they are not stored.
#if ATTN_VARLEN
      const int q_idx = min(first_row(tile) + 8 * r, tile.seq_q - 1);
      const int64_t first_save = int64_t{tile.h} * p.total_q + tile.q_begin;
      rows[r] = {tile.b,
                 tile.h,
                 tile.h / (kHeadsQ / kHeadsKv),
                 q_idx,
                 q_idx + tile.seq_kv - tile.seq_q,
                 tile.seq_q,
                 tile.seq_kv,
                 first_save};
#elif ATTN_PACKED_HEADS
      const int row = first_row(tile) + 8 * r;
      const int q_idx = min(row / kGroup, p.seq_q - 1);
      rows[r] = {tile.b,  tile.h + row % kGroup,      tile.h / kGroup,
                 q_idx,   q_idx + p.seq_kv - p.seq_q, p.seq_q,
                 p.seq_kv};
#else
      const int q_idx = min(first_row(tile) + 8 * r, p.seq_q - 1);
      rows[r] = {tile.b,  tile.h,  tile.h / (kHeadsQ / kHeadsKv), q_idx, q_idx + p.seq_kv - p.seq_q,
                 p.seq_q, p.seq_kv};
#endif
#if ATTN_ROW_CONSTANTS
      if (rows[r].seq_kv > 0) set_constants(rows[r], p.inputs);  // inputs may be empty otherwise
#endif
#if ATTN_SEARCHED_LIMITS
      // The lanes of a row find the same.
      int2& keys = shared.row_keys[warpgroup][thread / 32 * 16 + lane / 4 + 8 * r];
      keys = {};
      if (rows[r].seq_kv > 0) {
        keys = row_keys(rows[r], shared.tile_keys[query_slot.index][warpgroup], p.inputs);
      }
      rows[r].keys = &keys;
#endif
      reductions[r] = {};
    }
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][0][0] = output[j][0][1] = output[j][1][0] = output[j][1][1] = 0;
    }
  };
  // Asked as soon as the slot is known: the answer takes some thirty cycles.
  bool key_there = false, value_there = false;
  const auto start_scores = [&] {
    if (!key_there) barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_PING_PONG
    take_turn(warpgroup);
#endif
    pin(scores);
    wgmma_fence();
    uint64_t query = queries + query_slot.index * (kWarpgroups * kQueryBytes / 16);
#if ATTN_HEAD_DIM_QK > 128
    // Adds 0, but the compiler cannot know. A query that is the same for all blocks has its
    // descriptors built before the loop; they do not fit the uniform registers, and two R2UR bring
    // each of the others back between two products.
    query += key_slot.index >> 31;
#endif
    multiply_keys(scores, query, keys + key_slot.index * (kKeyBytes / 16));
    wgmma_commit();
  };
  const auto start_output = [&] {
    if (!value_there) barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
    pin(output);
    wgmma_fence();
    multiply_values(output, weights, values + value_slot.index * (kValueBytes / 16));
    wgmma_commit();
  };
#if !ATTN_SKIP
  const auto end_turn = [&] {
#if ATTN_PING_PONG
    pass_turn(warpgroup);
#endif
  };
#endif
  const auto release_key = [&] {
    if (lane == 0) barrier_arrive(shared.key_empty[key_slot.index]);
    key_slot.advance();
    key_there = barrier_test(shared.key_full[key_slot.index], key_slot.parity);
  };
  const auto release_value = [&] {
    if (lane == 0) barrier_arrive(shared.value_empty[value_slot.index]);
    value_slot.advance();
    value_there = barrier_test(shared.value_full[value_slot.index], value_slot.parity);
  };
#if ATTN_TRIMMED
  // Blocks that only other warpgroups need: waited for, since a slot's arrivals are counted by use.
  const auto pass_over = [&](int count) {
#pragma unroll 1
    for (; count > 0; --count) {
      barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_PING_PONG
      take_turn(warpgroup);
      pass_turn(warpgroup);
#endif
      release_key();
      barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
      release_value();
    }
  };
#endif
#if !ATTN_WALK
  const auto weigh_block = [&](const Blocks& blocks, int block, bool first) {
    return weigh(scores, first, blocks.is_full(block), block * kTileKv + lane % 4 * 2, rows,
                 p.inputs, reductions, shared.query[query_slot.index][warpgroup],
                 shared.key[key_slot.index]);
  };
#endif
  const auto hand_over_weights = [&] {
#if ATTN_WEIGHTS_SHARED
    store_fragments<kChunkKv>(shared.weights[warpgroup], scores);
    fence_async_proxy();
    __syncwarp();  // a warp's rows are read for that warp alone
#else
    pack_weights(weights, scores);
#endif
  };

#if ATTN_VARLEN
  // A tile's first block may hold keys of the next sequence.
  const auto clear_next_sequence = [&](const Tile& tile, int block) {
    const int first = tile.seq_kv - block * kTileKv;
    if (first >= kTileKv) return;
    barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
    clear_values(shared.value[value_slot.index], max(first, 0));
    fence_async_proxy();
    named_sync(1 + kWarpgroups + warpgroup, 128);
  };
#endif
#if ATTN_PING_PONG
  if (warpgroup == kWarpgroups - 1) pass_turn(warpgroup);  // the first turn
#endif
#pragma unroll 1
  while (true) {
    barrier_wait(shared.query_full[query_slot.index][warpgroup], query_slot.parity);
#if ATTN_VARLEN
    const Tile tile = uniform(shared.tile[query_slot.index][warpgroup]);
    if (tile.b < 0) break;
#if !ATTN_SEARCHED_LIMITS
    const Work work = work_of(tile, warpgroup, p);
#endif
#else
    const int index = uniform(shared.tile[query_slot.index][warpgroup]);
#if ATTN_PERSISTENT
    if (index < 0) break;
#endif
#if ATTN_SEARCHED_LIMITS
    const Tile tile = tile_at(index, p);
#else
    const Work work = work_at(index, warpgroup, p);
#endif
#endif
#if ATTN_SEARCHED_LIMITS
    begin_rows(tile);
    named_sync(1 + kWarpgroups + warpgroup, 128);  // all rows' keys are there
    const int2(&row_keys)[64] = shared.row_keys[warpgroup];
    const Work work =
        work_of(tile, shared.tile_keys[query_slot.index][warpgroup], row_keys[0], row_keys[63]);
#endif
#if !ATTN_WALK
    // The compiler would rather compute the limits again, between two products.
    const Blocks blocks{work.blocks.begin, work.blocks.end, uniform(work.blocks.full_begin),
                        uniform(work.blocks.full_end)};
#endif
#if ATTN_TRIMMED
    pass_over(work.before);
#endif
#if !ATTN_SEARCHED_LIMITS
    begin_rows(work.tile);
#endif
#if ATTN_WALK
    // Each slot of keys says which block it holds.
    const auto visit_of_slot = [&]() -> Visit { return {shared.visit[key_slot.index][lane % 2]}; };
    const auto weigh_visit = [&](Visit visit, bool first) {
      return weigh(scores, first, visit.full(), visit.block() * kTileKv + lane % 4 * 2, rows,
                   p.inputs, reductions, shared.query[query_slot.index][warpgroup],
                   shared.key[key_slot.index]);
    };
    bool more = uniform(shared.any_visit[query_slot.index][warpgroup]);
#if ATTN_SKIP
    // A block that only other warpgroups keep is let pass. Nothing is pending then, so that slots
    // come free in order.
    const auto next_visit = [&] {
      barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
      return visit_of_slot();
    };
    bool first = true;
#pragma unroll 1
    while (more) {
      const Visit visit = next_visit();
      more = visit.more();
      if (!visit.keeps(warpgroup)) {
        release_key();
        barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
        release_value();
        continue;
      }
      start_scores();
      wgmma_wait<0>();
      pin(scores);
      const Factors factors = weigh_visit(visit, first);
      first = false;
      release_key();
#if !ATTN_ROW_FREE
      rescale(output, factors);
#endif
      hand_over_weights();
#if ATTN_INTRA_OVERLAP
      // The next block's S runs under this block's softmax, and this block's PV under the next
      // one's.
#pragma unroll 1
      while (more) {
        const Visit following = next_visit();
        if (!following.keeps(warpgroup)) break;
        more = following.more();
        start_scores();
        start_output();
        wgmma_wait<1>();
        pin(scores);
        const Factors factors = weigh_visit(following, false);
        release_key();
        wgmma_wait<0>();
        pin(output);
        release_value();
#if !ATTN_ROW_FREE
        rescale(output, factors);
#endif
        hand_over_weights();
      }
#endif
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#elif ATTN_INTRA_OVERLAP
    // The next block's S runs under this block's softmax, and this block's PV under the next one's.
    if (more) {
      start_scores();
      Visit visit = visit_of_slot();
      end_turn();
      wgmma_wait<0>();
      pin(scores);
      weigh_visit(visit, true);
      release_key();
      hand_over_weights();
#if ATTN_VARLEN
      clear_next_sequence(work.tile, visit.block());
#endif
#pragma unroll 1
      while (visit.more()) {
        start_scores();
        visit = visit_of_slot();
        start_output();
        end_turn();
        wgmma_wait<1>();
        pin(scores);
        const Factors factors = weigh_visit(visit, false);
        release_key();
        wgmma_wait<0>();
        pin(output);
        release_value();
#if !ATTN_ROW_FREE
        rescale(output, factors);
#endif
        hand_over_weights();
      }
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#else
#pragma unroll 1
    for (bool first = true; more; first = false) {
      start_scores();
      const Visit visit = visit_of_slot();
      more = visit.more();
      wgmma_wait<0>();
      pin(scores);
      end_turn();
      const Factors factors = weigh_visit(visit, first);
      release_key();
#if !ATTN_ROW_FREE
      rescale(output, factors);
#endif
      hand_over_weights();
#if ATTN_VARLEN
      if (first) clear_next_sequence(work.tile, visit.block());
#endif
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#endif
#elif ATTN_INTRA_OVERLAP
    // The next block's S runs under this block's softmax, and this block's PV under the next one's.
    if (blocks.end > blocks.begin) {
      start_scores();
      end_turn();
      wgmma_wait<0>();
      pin(scores);
      weigh_block(blocks, blocks.end - 1, true);
      release_key();
      hand_over_weights();
#if ATTN_VARLEN
      clear_next_sequence(work.tile, blocks.end - 1);
#endif
#pragma unroll 1
      for (int block = blocks.end - 2; block >= blocks.begin; --block) {
        start_scores();
        start_output();
        end_turn();
        wgmma_wait<1>();
        pin(scores);
        const Factors factors = weigh_block(blocks, block, false);
        release_key();
        wgmma_wait<0>();
        pin(output);
        release_value();
#if !ATTN_ROW_FREE
        rescale(output, factors);
#endif
        hand_over_weights();
      }
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#else
#pragma unroll 1
    for (int block = blocks.end - 1; block >= blocks.begin; --block) {
      start_scores();
      wgmma_wait<0>();
      pin(scores);
      end_turn();
      const Factors factors = weigh_block(blocks, block, block == blocks.end - 1);
      release_key();
#if !ATTN_ROW_FREE
      rescale(output, factors);
#endif
      hand_over_weights();
#if ATTN_VARLEN
      if (block == blocks.end - 1) clear_next_sequence(work.tile, block);
#endif
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#endif
#if ATTN_TRIMMED
    pass_over(work.after);
#endif
    finish_rows(shared.query[query_slot.index][warpgroup],
                shared.query_empty[query_slot.index][warpgroup], map_o, warpgroup, work.tile,
                first_row(work.tile), rows, output, reductions, p);
    query_slot.advance();
#if !ATTN_PERSISTENT
    break;
#endif
  }
#if ATTN_PING_PONG
  if (warpgroup == 0) take_turn(0);  // the turn that nobody takes
#endif
}
