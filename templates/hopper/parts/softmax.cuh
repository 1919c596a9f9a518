// Online softmax: exponentials against the running maximum of a row.
#pragma once

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Over the four threads that share a row.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

constexpr float kLog2e = 1.44269504f;
#if ATTN_PLAIN_SCORE
constexpr float kScoreUnit = kScale;  // scores stay raw products: the scale folds into the exponent
#else
constexpr float kScoreUnit = 1;
#endif

// Turns raw products into scores; pairs that do not exist become -inf.
template <bool kMasked>
__device__ __forceinline__ void finish_scores(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                              const Row (&rows)[2], const Inputs& in) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const Row& row = rows[r];
#if ATTN_INTERVAL_MASK
    // A row's pairs are those of an interval of keys: two limits, relative to this thread's
    // columns.
    const KeyRange keys = key_range(row.q_idx, row.q_idx, row, in);
    const int begin = keys.begin - kv_first;
    const int end = keys.end - kv_first;
#endif
#pragma unroll
    for (int column = 0; column < kTileKv / 4; ++column) {
      const int key = column / 2 * 8 + column % 2;
      float& score = scores[column / 2][r][column % 2];
#if !ATTN_PLAIN_SCORE
      const int kv_idx = kMasked ? min(kv_first + key, row.seq_kv - 1) : kv_first + key;
      score = score_of(score * kScale, row, kv_idx, in);
#endif
      if (kMasked) {
#if ATTN_INTERVAL_MASK
        const bool exists = key >= begin && key < end;
#else
        const bool exists = kv_first + key < row.seq_kv && pair_exists(row, kv_first + key, in);
#endif
        score = exists ? score : -INFINITY;
      }
    }
  }
}

// Takes one block of row r: scores in, weights out. Returns the factor by which the row's
// accumulator shrinks. A maximum of -inf (no pair yet) counts as 0, so that no exponent is inf -
// inf.
__device__ __forceinline__ float absorb(float (&scores)[kTileKv / 8][2][2], int r, const Row& row,
                                        const Inputs& in, Reductions& red) {
  const float old_max = row_max(red.max_score, row, in);
  float max_raw = -INFINITY;
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
    max_raw = fmaxf(max_raw, fmaxf(scores[j][r][0], scores[j][r][1]));
  }
  red.max_score = fmaxf(red.max_score, quad_max(max_raw) * kScoreUnit);
  const float new_max = row_max(red.max_score, row, in);
  const float shift = new_max == -INFINITY ? 0 : new_max * kLog2e;
  const float factor = exp2_approx(old_max * kLog2e - shift);

  float sum = 0;
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      scores[j][r][e] = exp2_approx(scores[j][r][e] * (kScoreUnit * kLog2e) - shift);
      sum += scores[j][r][e];
    }
  }
  red.sum_exp = red.sum_exp * factor + sum;
  return factor;
}

#if ATTN_FIXED_MAX
// The same without a new maximum: weights relative to the one in use, nothing shrinks. False if a
// weight could leave fp16 or the accumulator's range (a later score exceeds the maximum by more
// than log(2^15) = 10.4), or if the row has no maximum yet: then the scores are lost and must be
// computed again.
__device__ __forceinline__ bool absorb_fixed(float (&scores)[kTileKv / 8][2][2], int r,
                                             const Row& row, const Inputs& in, Reductions& red) {
  constexpr float kLimit = 32768;
  const float shift = row_max(red.max_score, row, in) * kLog2e;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      scores[j][r][e] = exp2_approx(scores[j][r][e] * (kScoreUnit * kLog2e) - shift);
      sum += scores[j][r][e];
    }
  }
  if (!(sum < kLimit)) return false;  // a NaN fails too
  red.sum_exp += sum;
  return true;
}
#endif
