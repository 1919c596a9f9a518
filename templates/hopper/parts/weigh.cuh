// A block of keys in the registers of a warpgroup: its two products, and scores to weights between.
#pragma once

using Scores = float[kTileKv / 8][2][2];
using Output = float[kHeadDimV / 8][2][2];
#if !ATTN_WEIGHTS_SHARED
using Weights = uint32_t[kTileKv / 16][4];  // the A operands of the second product
#endif

#if ATTN_MASK_AHEAD
// S = Q K^T of one block; asynchronous. `begun`: added to what S is.
__device__ __forceinline__ void multiply_keys(Scores& scores, uint64_t query, uint64_t key,
                                              bool begun) {
#else
// S = Q K^T of one block; asynchronous.
__device__ __forceinline__ void multiply_keys(Scores& scores, uint64_t query, uint64_t key) {
#endif
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    wgmma_scores(scores, query + step_offset<kChunkQk>(64, step),
#if ATTN_MASK_AHEAD
                 key + step_offset<kChunkQk>(kTileKv, step), step > 0 || begun);
#else
                 key + step_offset<kChunkQk>(kTileKv, step), step > 0);
#endif
  }
}

// O += P V of one block; asynchronous.
#if ATTN_WEIGHTS_SHARED
__device__ __forceinline__ void multiply_values(Output& output, uint64_t weights, uint64_t value) {
#pragma unroll
  for (int step = 0; step < kTileKv / 16; ++step) {
    wgmma_output(output, weights + step_offset<kChunkKv>(64, step),
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
#if ATTN_POSITIVE_PART
      weights[step][i] = pack_positive_part(pair[0], pair[1]);
#else
      weights[step][i] = pack(pair[0], pair[1]);
#endif
    }
  }
}
#endif
#if ATTN_POSITIVE_PART && ATTN_WEIGHTS_SHARED

__device__ __forceinline__ void take_positive_part(Scores& scores) {
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[j][i / 2][i % 2] = fmaxf(scores[j][i / 2][i % 2], 0);
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

#if ATTN_WEIGHTS_WAIT
// In a block that is whole no pair is asked whether it counts. One test of both rows: a test each
// would part their instructions.
__device__ __forceinline__ void drop_unstarted(Scores& scores, const Row (&rows)[2],
                                               const Inputs& in, Reductions (&reductions)[2]) {
  const bool started[2] = {has_started(loop_rows(reductions[0], rows[0], in)),
                           has_started(loop_rows(reductions[1], rows[1], in))};
  if (started[0] && started[1]) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (!started[r]) drop_weights(scores, r, reductions[r]);
  }
}

#endif
#if !ATTN_EXPONENTIAL
#if ATTN_BIAS
template <bool kMasked, typename Biases>
#else
template <bool kMasked>
#endif
__device__ __forceinline__ void absorb_rows(Scores& scores, int kv_first, const Row (&rows)[2],
                                            const Inputs& in, Reductions (&reductions)[2],
#if ATTN_ROW_FREE
                                            Factors&) {
#else
                                            Factors& factors) {
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if !ATTN_ROW_FREE
#if ATTN_BIAS
    factors.row[r] = absorb<kMasked, Biases>(scores, r, kv_first, rows[r], in, reductions[r]);
#else
    factors.row[r] = absorb<kMasked>(scores, r, kv_first, rows[r], in, reductions[r]);
#endif
#else
#if ATTN_BIAS
    absorb<kMasked, Biases>(scores, r, kv_first, rows[r], in, reductions[r]);
#else
    absorb<kMasked>(scores, r, kv_first, rows[r], in, reductions[r]);
#endif
#endif
  }
}
#endif

// Scores of one block to weights. `query` and `key` are the block's operands, still in place.
#if ATTN_BIAS
template <typename Biases>
#endif
__device__ __forceinline__ Factors weigh(Scores& scores, bool first, bool full, int kv_first,
                                         const Row (&rows)[2], const Inputs& in,
#if ATTN_LEVEL
                                         bool level, const float (&added)[2],
#endif
#if ATTN_LARGE_SCORES && ATTN_FIXED_MAX
                                         float& limit,
#endif
                                         Reductions (&reductions)[2], const uint8_t* query,
                                         const uint8_t* key) {
  Factors factors;
#if ATTN_EXPONENTIAL
#if ATTN_FIXED_MAX
#if !ATTN_LARGE_SCORES
  constexpr float limit = kLargestSum;
#endif
#if ATTN_MASK_AHEAD
  if (first) {
#pragma unroll
    for (int r = 0; r < 2; ++r) reductions[r].max_score = some_max(scores, r);
#if ATTN_LARGE_SCORES
    limit = limit_of(rows, in, reductions, false);
#endif
  }
#endif
  // A row without a pair yet has no maximum to keep: likely where the mask cuts blocks, and
  // otherwise no weight fits.
  const bool started = reductions[0].max_score > -INFINITY && reductions[1].max_score > -INFINITY;
#if ATTN_MASK_AHEAD
  const bool keeps = __all_sync(0xffffffffu, started);  // a step's vote passes under its products
#elif ATTN_LARGE_SCORES
  const bool keeps = !first && limit > 0 && (full || __all_sync(0xffffffffu, started));
#else
  const bool keeps = !first && (full || __all_sync(0xffffffffu, started));
#endif
  if (keeps) {
    Reductions grown[2] = {reductions[0], reductions[1]};
    // One branch around all of it: within, scores and exponentials run side by side.
#if !ATTN_BIAS
#if ATTN_NEAR_CAP
    const bool near = full && __all_sync(0xffffffffu, near_holds(rows, in, grown));
    const bool fits = near   ? absorb_near(scores, rows, in, grown)
                      : full ? absorb_fixed<false>(scores, kv_first, rows, in, grown, limit)
                             : absorb_fixed<true>(scores, kv_first, rows, in, grown, limit);
#elif ATTN_LEVEL
    const bool fits = level  ? absorb_level(scores, added, rows, in, grown, limit)
                      : full ? absorb_fixed<false>(scores, kv_first, rows, in, grown, limit)
                             : absorb_fixed<true>(scores, kv_first, rows, in, grown, limit);
#elif ATTN_MASK_AHEAD
    const bool fits = absorb_fixed(scores, rows, in, grown, limit);
#else
    const bool fits = full ? absorb_fixed<false>(scores, kv_first, rows, in, grown, limit)
                           : absorb_fixed<true>(scores, kv_first, rows, in, grown, limit);
#endif
#endif
#if ATTN_BIAS
#if ATTN_NEAR_CAP
    const bool near = full && __all_sync(0xffffffffu, near_holds(rows, in, grown));
    const bool fits = near   ? absorb_near(scores, rows, in, grown)
                      : full ? absorb_fixed<false, Biases>(scores, kv_first, rows, in, grown, limit)
                             : absorb_fixed<true, Biases>(scores, kv_first, rows, in, grown, limit);
#elif ATTN_LEVEL
    const bool fits = level  ? absorb_level(scores, added, rows, in, grown, limit)
                      : full ? absorb_fixed<false, Biases>(scores, kv_first, rows, in, grown, limit)
                             : absorb_fixed<true, Biases>(scores, kv_first, rows, in, grown, limit);
#else
    const bool fits = full ? absorb_fixed<false, Biases>(scores, kv_first, rows, in, grown, limit)
                           : absorb_fixed<true, Biases>(scores, kv_first, rows, in, grown, limit);
#endif
#endif
    if (__all_sync(0xffffffffu, fits)) {
      reductions[0] = grown[0];
      reductions[1] = grown[1];
      return factors;
    }
    // PV goes on: it shares no register with this.
#if ATTN_MASK_AHEAD
    recompute_scores(scores, full, kv_first, rows, in, query, key);
#else
    recompute_scores(scores, query, key);
#endif
  }
#endif
#if ATTN_AFFINE_SCORE
  const float shift[2] = {0, 0};
  if (full) {
#if ATTN_BIAS
    finish_scores<false, Biases>(scores, kv_first, rows, shift, in);
  } else {
    finish_scores<true, Biases>(scores, kv_first, rows, shift, in);
#else
    finish_scores<false>(scores, kv_first, rows, shift, in);
  } else {
    finish_scores<true>(scores, kv_first, rows, shift, in);
#endif
  }
#elif !ATTN_PLAIN_SCORE && ATTN_BIAS
  if (full) {
    finish_scores<false, Biases>(scores, kv_first, rows, in);
  } else {
    finish_scores<true, Biases>(scores, kv_first, rows, in);
  }
#elif !ATTN_PLAIN_SCORE
  if (full) {
    finish_scores<false>(scores, kv_first, rows, in);
  } else {
    finish_scores<true>(scores, kv_first, rows, in);
  }
#elif ATTN_MASK_BIAS
  if (!full) mask_scores<Biases>(scores, kv_first, rows, in);
#elif !ATTN_MASK_AHEAD
  if (!full) mask_scores(scores, kv_first, rows, in);
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) factors.row[r] = absorb(scores, r, rows[r], in, reductions[r]);
#if ATTN_LARGE_SCORES && ATTN_FIXED_MAX
  limit = limit_of(rows, in, reductions,
                   started && fminf(factors.row[0], factors.row[1]) < 1 / kLargestSum);
#endif
#else
#if ATTN_NEAR_LOGISTIC
  // Until a block of the tile has a larger weight.
  if (reductions[0].near) {
#if ATTN_BIAS
    const bool fits = full ? absorb_near<false, Biases>(scores, kv_first, rows, in)
                           : absorb_near<true, Biases>(scores, kv_first, rows, in);
#else
    const bool fits = full ? absorb_near<false>(scores, kv_first, rows, in)
                           : absorb_near<true>(scores, kv_first, rows, in);
#endif
    if (__all_sync(0xffffffffu, fits)) return factors;
    reductions[0].near = false;
    recompute_scores(scores, query, key);
  }
#endif
  if (full) {
#if ATTN_BIAS
    absorb_rows<false, Biases>(scores, kv_first, rows, in, reductions, factors);
#else
    absorb_rows<false>(scores, kv_first, rows, in, reductions, factors);
#endif
#if ATTN_WEIGHTS_WAIT
    drop_unstarted(scores, rows, in, reductions);
#endif
  } else {
#if ATTN_BIAS
    absorb_rows<true, Biases>(scores, kv_first, rows, in, reductions, factors);
#else
    absorb_rows<true>(scores, kv_first, rows, in, reductions, factors);
#endif
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
