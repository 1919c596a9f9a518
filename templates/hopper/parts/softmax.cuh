// Online softmax: exponentials against the running maximum of a row.
#pragma once

constexpr float kLog2e = 1.44269504f;
#if ATTN_PLAIN_SCORE
constexpr float kScoreUnit = kScale;  // scores stay raw products: the scale folds into the exponent
constexpr float kExponentUnit = kScale * kLog2e;
#elif ATTN_AFFINE_SCORE
constexpr float kScoreUnit = 0.693147181f;  // scores are exponents of two
#else
constexpr float kExponentUnit = ATTN_EXPONENT_UNIT;  // of a score here, as an exponent of two
constexpr float kScoreUnit = kExponentUnit / kLog2e;
#endif

#if !ATTN_MASK_AHEAD
#if ATTN_INTERVAL_MASK || ATTN_SEARCHED_LIMITS
// A row's pairs are those of an interval of keys: two limits, relative to a thread's columns.
struct Limits {
  int begin, end;
};
__device__ __forceinline__ Limits limits_of(const Row& row, int kv_first, const Inputs& in) {
#if ATTN_INTERVAL_MASK
  const KeyRange keys = key_range(row.q_idx, row.q_idx, row, in);
#if ATTN_ROWS_DIFFER
  return {keys.begin - kv_first, min(keys.end, row.end) - kv_first};
#else
  return {keys.begin - kv_first, keys.end - kv_first};
#endif
#else
  const int2 keys = *row.keys;  // found when the tile began
  return {keys.x - kv_first, keys.y - kv_first};
#endif
}

#else
// Whether a row's pair with the key `column` places behind kv_first exists.
#if ATTN_MASK_BITS
// Of keys behind the last one the bits are 0.
#endif
#if ATTN_ZERO_IS_MASKED
// None does behind the last key, where the tile has zeros.
#endif
#if ATTN_MASK_BITS
__device__ __forceinline__ bool exists_at(const Row& row, int, int column, const Inputs&) {
  return load_mask_bits(row.bits)(column / 8, column % 2);
}
#elif ATTN_MASK_BIAS
template <typename Bias>
__device__ __forceinline__ bool exists_at(const Row& row, Bias bias, int kv_first, int column,
                                          const Inputs& in) {
  const int key = kv_first + column;
#if ATTN_ROWS_DIFFER
  return key < row.end && pair_exists(row, bias, column, key, in);
#elif ATTN_ZERO_IS_MASKED
  return pair_exists(row, bias, column, key, in);
#elif ATTN_MASK_LOADS
  return key < row.seq_kv && pair_exists(row, bias, column, key, in);
#else
  return (key < row.seq_kv) & pair_exists(row, bias, column, key, in);
#endif
}
#else
__device__ __forceinline__ bool exists_at(const Row& row, int kv_first, int column,
                                          const Inputs& in) {
  const int key = kv_first + column;
#if ATTN_ROWS_DIFFER
  return key < row.end && pair_exists(row, column, key, in);
#elif ATTN_MASK_LOADS
  return key < row.seq_kv && pair_exists(row, column, key, in);
#else
  return (key < row.seq_kv) & pair_exists(row, column, key, in);
#endif
}
#endif

#endif
#if ATTN_PLAIN_SCORE
// Pairs that do not exist become -inf; scores stay raw products.
#if ATTN_GATHER
// These are of one of the two blocks that a step takes, whose first key is kv_first.
template <int kBlock>
__device__ __forceinline__ void mask_half(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                          const Row (&rows)[2], const Inputs& in) {
#else
#if ATTN_MASK_BIAS
template <typename Biases>
#endif
__device__ __forceinline__ void mask_scores(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                            const Row (&rows)[2], const Inputs& in) {
#endif
#if ATTN_MASK_BIAS
  const Biases biases = Biases::load(rows[0].bias, rows[1].bias);
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const Row& row = rows[r];
#if ATTN_INTERVAL_MASK || ATTN_SEARCHED_LIMITS
    const Limits limits = limits_of(row, kv_first, in);
#endif
#pragma unroll
#if ATTN_GATHER
    for (int group = kBlock * kBlockKv / 4; group < (kBlock + 1) * kBlockKv / 4; ++group) {
#else
    for (int group = 0; group < kTileKv / 4; ++group) {
#endif
      const int column = group / 2 * 8 + group % 2;
      float& score = scores[group / 2][r][group % 2];
#if ATTN_INTERVAL_MASK || ATTN_SEARCHED_LIMITS
      const bool exists = column >= limits.begin && column < limits.end;
#else
#if ATTN_MASK_BIAS
      const auto bias = biases(group / 2, r, group % 2);
      const bool exists = exists_at(row, bias, kv_first, column, in);
#else
      const bool exists = exists_at(row, kv_first, column, in);
#endif
#endif
      score = exists ? score : -INFINITY;
    }
  }
}

#if ATTN_GATHER
__device__ __forceinline__ void mask_scores(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                            const Row (&rows)[2], const Inputs& in) {
  mask_half<0>(scores, kv_first, rows, in);
  mask_half<1>(scores, kv_first + rows[0].apart, rows, in);
}

#endif
#else
// Turns raw products into scores; pairs that do not exist become -inf.
#if ATTN_AFFINE_SCORE
// Each row's are relative to its shift.
#endif
#if ATTN_GATHER
// This is one of the two blocks that a step takes, whose first key is kv_first.
template <bool kMasked, int kBlock>
__device__ __forceinline__ void finish_half(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                            const Row (&rows)[2],
#else
#if ATTN_BIAS
template <bool kMasked, typename Biases>
#else
template <bool kMasked>
#endif
__device__ __forceinline__ void finish_scores(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                              const Row (&rows)[2],
#endif
#if ATTN_AFFINE_SCORE
                                            const float (&shift)[2],
#endif
                                            const Inputs& in) {
#if ATTN_BIAS
  const Biases biases = Biases::load(rows[0].bias, rows[1].bias);
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const Row& row = rows[r];
#if ATTN_INTERVAL_MASK || ATTN_SEARCHED_LIMITS
    const Limits limits = limits_of(row, kv_first, in);
#endif
#if ATTN_AFFINE_SCORE
    const float base = exponent_base(row, kv_first, in) - shift[r];
#endif
#if ATTN_LINES
    const Lines lines = lines_at(row, kv_first, in);
#endif
#pragma unroll
#if ATTN_GATHER
    for (int group = kBlock * kBlockKv / 4; group < (kBlock + 1) * kBlockKv / 4; ++group) {
#else
    for (int group = 0; group < kTileKv / 4; ++group) {
#endif
      const int column = group / 2 * 8 + group % 2;
      float& score = scores[group / 2][r][group % 2];
#if ATTN_BIAS
      const auto bias = biases(group / 2, r, group % 2);
#endif
#if ATTN_AFFINE_SCORE
      score = exponent_of(score, row, base, column);
#else
#if ATTN_LISTED_KEYS
      const int kv_idx = row.listed[column];
#else
      const int kv_idx = kMasked ? min(kv_first + column, row.seq_kv - 1) : kv_first + column;
#endif
#if ATTN_SCORE_BIAS && ATTN_LINES
      score = score_of(score, bias, row, lines, column, kv_idx, in);
#elif ATTN_SCORE_BIAS && ATTN_SCORE_COLUMN
      score = score_of(score, bias, row, column, kv_idx, in);
#elif ATTN_SCORE_BIAS
      score = score_of(score, bias, row, kv_idx, in);
#elif ATTN_LINES
      score = score_of(score, row, lines, column, kv_idx, in);
#elif ATTN_SCORE_COLUMN
      score = score_of(score, row, column, kv_idx, in);
#else
      score = score_of(score, row, kv_idx, in);
#endif
#endif
      if (kMasked) {
#if ATTN_INTERVAL_MASK || ATTN_SEARCHED_LIMITS
        const bool exists = column >= limits.begin && column < limits.end;
#else
#if ATTN_MASK_BIAS
        const bool exists = exists_at(row, bias, kv_first, column, in);
#else
        const bool exists = exists_at(row, kv_first, column, in);
#endif
#endif
        score = exists ? score : -INFINITY;
      }
    }
  }
}

#if ATTN_GATHER
template <bool kMasked>
__device__ __forceinline__ void finish_scores(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                              const Row (&rows)[2],
#if ATTN_AFFINE_SCORE
                                              const float (&shift)[2],
#endif
                                              const Inputs& in) {
  const int second = kv_first + rows[0].apart;
#if ATTN_AFFINE_SCORE
  finish_half<kMasked, 0>(scores, kv_first, rows, shift, in);
  finish_half<kMasked, 1>(scores, second, rows, shift, in);
#else
  finish_half<kMasked, 0>(scores, kv_first, rows, in);
  finish_half<kMasked, 1>(scores, second, rows, in);
#endif
}

#endif
#endif
#endif
#if !ATTN_LARGE_SCORES || (ATTN_FIXED_MAX && !ATTN_AFFINE_SCORE)
// A score's weight, less the shift of its row.
__device__ __forceinline__ float weight_of(float score, float shift) {
#if ATTN_AFFINE_SCORE
  return exp2_approx(score - shift);
#else
  return exp2_approx(score * kExponentUnit - shift);
#endif
}

#endif
#if ATTN_LARGE_SCORES
// Of a maximum to which a mask has added -1e9, or the least float, the product with log2(e) rounds
// by more than a weight may err, or overflows: so exponents are of differences.
__device__ __forceinline__ float exponent_of_difference(float score, float max) {
  return __fsub_rn(score, max) * kLog2e;
}

#endif
// Takes one block of row r: scores in, weights out. Returns the factor by which the row's
// accumulator shrinks. A maximum of -inf (no pair yet) counts as 0, so that no exponent is
// inf - inf.
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
#if ATTN_LARGE_SCORES
  const float max = new_max == -INFINITY ? 0 : new_max;
  const float factor = exp2_approx(exponent_of_difference(old_max, max));
#else
  const float shift = new_max == -INFINITY ? 0 : new_max * kLog2e;
  const float factor = exp2_approx(old_max * kLog2e - shift);
#endif

  float sum = 0;
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
#if ATTN_LARGE_SCORES
      const float score = __fmul_rn(scores[j][r][e], kScoreUnit);
      scores[j][r][e] = exp2_approx(exponent_of_difference(score, max));
#else
      scores[j][r][e] = weight_of(scores[j][r][e], shift);
#endif
      sum += scores[j][r][e];
    }
  }
  red.sum_exp = red.sum_exp * factor + sum;
  return factor;
}

#if ATTN_FIXED_MAX
#if ATTN_MASK_AHEAD
// A row's first maximum: of eight of its scores. Any will do that others exceed by little, and
// these stand at both ends of the block, one of which a mask leaves.
__device__ __forceinline__ float some_max(const float (&scores)[kTileKv / 8][2][2], int r) {
  return quad_max(fmaxf(scores[0][r][0], scores[kTileKv / 8 - 1][r][1])) * kScoreUnit;
}

#endif
// The shift that goes with a row's maximum so far.
__device__ __forceinline__ float shift_of(const Row& row, const Inputs& in, const Reductions& red) {
  return row_max(red.max_score, row, in) * kLog2e;
}

// What a block's sums of weights stay below while the maximum is kept: no weight leaves fp16, since
// no score exceeds the maximum by more than log(2^15) = 10.4.
constexpr float kLargestSum = 32768;

#if ATTN_LARGE_SCORES
// The same for a warp's next block, or 0 where no maximum is to be kept: one is too large, or rises
// from block to block, as towards the nearest keys of a row. A block that does not fit is computed
// twice; one that is not tried is not.
constexpr float kLargeShift = 1 << 20;
__device__ __forceinline__ float limit_of(const Row (&rows)[2], const Inputs& in,
                                          const Reductions (&reductions)[2], bool rises) {
  const float shift[2] = {shift_of(rows[0], in, reductions[0]),
                          shift_of(rows[1], in, reductions[1])};
  const bool large = fmaxf(fabsf(shift[0]), fabsf(shift[1])) > kLargeShift;
  const float limit = __any_sync(0xffffffffu, large || rises) ? 0 : kLargestSum;
  return __shfl_sync(0xffffffffu, limit, 0);  // else a move to a uniform register, in the loop
}

#endif
#if ATTN_PLAIN_SCORE && (ATTN_MASK_BIAS || ATTN_MASK_BITS)
__device__ __forceinline__ void to_exponents(float (&scores)[kTileKv / 8][2][2],
                                             const float (&shift)[2]) {
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[j][i / 2][i % 2];
      score = score * kExponentUnit - shift[i / 2];
    }
  }
}

#endif
// A whole block without a new maximum: weights relative to the one in use, nothing shrinks. False
// if a sum of them is not below `limit`, or if a row has no maximum yet: then the scores are lost
// and must be computed again.
#if ATTN_MASK_AHEAD
__device__ __forceinline__ bool absorb_fixed(float (&scores)[kTileKv / 8][2][2],
#else
#if ATTN_BIAS
template <bool kMasked, typename Biases>
#else
template <bool kMasked>
#endif
__device__ __forceinline__ bool absorb_fixed(float (&scores)[kTileKv / 8][2][2], int kv_first,
#endif
                                             const Row (&rows)[2], const Inputs& in,
                                             Reductions (&reductions)[2], float limit) {
  const float shift[2] = {shift_of(rows[0], in, reductions[0]),
                          shift_of(rows[1], in, reductions[1])};
#if ATTN_AFFINE_SCORE
#if ATTN_BIAS
  finish_scores<kMasked, Biases>(scores, kv_first, rows, shift, in);
#else
  finish_scores<kMasked>(scores, kv_first, rows, shift, in);
#endif
#elif !ATTN_PLAIN_SCORE
#if ATTN_BIAS
  finish_scores<kMasked, Biases>(scores, kv_first, rows, in);
#else
  finish_scores<kMasked>(scores, kv_first, rows, in);
#endif
#endif
#if ATTN_PLAIN_SCORE && (ATTN_MASK_BIAS || ATTN_MASK_BITS)
  to_exponents(scores, shift);  // a mask between would part the multiply-add
#endif
#if ATTN_PLAIN_SCORE && ATTN_MASK_BIAS
  if (kMasked) mask_scores<Biases>(scores, kv_first, rows, in);
#elif ATTN_PLAIN_SCORE && !ATTN_MASK_AHEAD
  if (kMasked) mask_scores(scores, kv_first, rows, in);
#endif
  bool fits = true;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
#if ATTN_AFFINE_SCORE || (ATTN_PLAIN_SCORE && (ATTN_MASK_BIAS || ATTN_MASK_BITS))
        scores[j][r][e] = exp2_approx(scores[j][r][e]);  // relative to the maximum already
#else
        scores[j][r][e] = weight_of(scores[j][r][e], shift[r]);
#endif
      }
      sum += scores[j][r][0] + scores[j][r][1];  // half the chain of one sum
    }
    fits = fits && sum < limit;  // a NaN does not
    reductions[r].sum_exp += sum;
  }
  return fits;
}

#if ATTN_LEVEL
// As absorb_fixed, of a whole block in which all pairs of a row add the same to their product.
__device__ __forceinline__ bool absorb_level(float (&scores)[kTileKv / 8][2][2],
                                             const float (&added)[2], const Row (&rows)[2],
                                             const Inputs& in, Reductions (&reductions)[2],
                                             float limit) {
  constexpr float kProductUnit = ATTN_LEVEL_UNIT;
  bool fits = true;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float shift = shift_of(rows[r], in, reductions[r]) - added[r] * kExponentUnit;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        scores[j][r][e] = exp2_approx(scores[j][r][e] * kProductUnit - shift);
      }
      sum += scores[j][r][0] + scores[j][r][1];
    }
    fits = fits && sum < limit;  // a NaN does not
    reductions[r].sum_exp += sum;
  }
  return fits;
}
#endif
#endif

#if ATTN_NEAR_CAP
// Whether the near score holds relative to these maxima: exponents that it gets wrong are either
// far below 0, or so far above the maximum that their weights do not fit.
__device__ __forceinline__ bool near_holds(const Row (&rows)[2], const Inputs& in,
                                           const Reductions (&reductions)[2]) {
  const float shift[2] = {shift_of(rows[0], in, reductions[0]),
                          shift_of(rows[1], in, reductions[1])};
  return fminf(shift[0], shift[1]) >= 0 && fmaxf(shift[0], shift[1]) <= ATTN_NEAR_HIGHEST;
}

// As absorb_fixed, of a whole block. tanh is next to a cubic here, to 2^-8 of the exponent; far out
// a straight line takes over, so that larger scores give larger weights.
__device__ __forceinline__ bool absorb_near(float (&scores)[kTileKv / 8][2][2],
                                            const Row (&rows)[2], const Inputs& in,
                                            Reductions (&reductions)[2]) {
  constexpr float kLimit = ATTN_NEAR_ROOM;
  float sums[2];  // one test at the end: a test each would part the rows' instructions
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float shift = shift_of(rows[r], in, reductions[r]);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float product = scores[j][r][e];
        const float square = __saturatef(product * product);
        const float slope = square * ATTN_NEAR_CUBIC + ATTN_NEAR_LINEAR;
        scores[j][r][e] = exp2_approx(product * slope - shift);
        sum += scores[j][r][e];
      }
    }
    sums[r] = sum;
    reductions[r].sum_exp += sum;
  }
  return sums[0] + sums[1] < kLimit;
}
#endif
