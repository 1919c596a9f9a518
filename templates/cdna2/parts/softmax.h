// Online softmax: exponentials against a running maximum of a row.
#pragma once

constexpr float kLog2e = 1.44269504f;
#if ATTN_PLAIN_SCORE
constexpr float kExponentUnit = kScale * kLog2e;  // of a raw product
#elif !ATTN_AFFINE_SCORE
constexpr float kExponentUnit = ATTN_EXPONENT_UNIT;  // of a score
#endif

#if !ATTN_BF16
// Matrix instructions take fp16 subnormals for zero. Weights are 2^7 times as large, so that those
// down to 2^-21 count; and 1 + 2^-12 times, half of what rounding towards zero may lose, so that a
// weight of 1 stays 1 and the others err to either side. Only the sums must forget that again.
constexpr float kWeightBits = 7.00035218f, kWeightUnit = 1.0f / 128;
constexpr float kSumUnit = kWeightUnit / (1 + 1.0f / 4096);
#endif
#if ATTN_FIXED_MAX
// The maximum in use may fall behind the true one by this power of two: sums and accumulators have
// room for it, and the output is the same.
constexpr float kSlackBits = 8;
#else
constexpr float kSlackBits = 0;
#endif

// 2^x within 1 ulp; a result below 2^-126 is 0.
__device__ __forceinline__ float exp2_approx(float x) {
#if __has_builtin(__builtin_amdgcn_exp2f)
  return __builtin_amdgcn_exp2f(x);
#else
  return __builtin_exp2f(x);
#endif
}

// Over the two lanes that share a row.
__device__ __forceinline__ float pair_max(float x) { return fmaxf(x, other_half(x)); }

// The row's maximum for the greatest exponent that it has seen, both as exponents of 2. There and
// back a large one would not be the same, by which weights would overflow.
__device__ __forceinline__ float max_of(float greatest, const Row& row, const Inputs& in) {
  const float score = greatest * (1 / kLog2e);
  const float max = row_max(score, row, in);
  return max == score ? greatest : max * kLog2e;
}

// What the lane's row has seen, in units of the exponent of 2.
struct Softmax {
  float greatest = -INFINITY;
  float shift = 0;          // what exponents are relative to
  float limit = -INFINITY;  // exponents above it need a new maximum
  Pair sum[2] = {};         // of weights, over this lane's keys

  // Takes over the lane's greatest exponent. Returns the factor by which the row's sums and
  // accumulator shrink. A maximum of -inf (no pair yet) counts as 0, so that no exponent is
  // inf - inf.
  __device__ __forceinline__ float raise(float exponent, const Row& row, const Inputs& in) {
    const float old_max = max_of(greatest, row, in);
    greatest = fmaxf(greatest, pair_max(exponent));
    const float new_max = max_of(greatest, row, in);
    const bool none = new_max == -INFINITY;
    const float factor = none ? 1 : exp2_approx(old_max - new_max);
#if ATTN_BF16
    shift = none ? 0 : new_max;
#else
    shift = (none ? 0 : new_max) - kWeightBits;
#endif
    limit = new_max + kSlackBits;
    sum[0] *= factor;
    sum[1] *= factor;
    return factor;
  }

  __device__ __forceinline__ Reductions reductions() const {
    const Pair both = sum[0] + sum[1];
#if ATTN_BF16
    return {greatest * (1 / kLog2e), both.x + both.y};
#else
    return {greatest * (1 / kLog2e), (both.x + both.y) * kSumUnit};
#endif
  }
};

// What the scores of a lane's keys of a block have in common.
struct BlockTerms {
  int kv_first;
#if ATTN_AFFINE_SCORE
  float base;
#elif ATTN_LINES
  Lines lines;
#endif
};

#if ATTN_AFFINE_SCORE
__device__ __forceinline__ BlockTerms terms_of(int kv_first, const Row& row, const Inputs& in) {
  return {kv_first, exponent_base(row, kv_first, in)};
}
#elif ATTN_LINES
__device__ __forceinline__ BlockTerms terms_of(int kv_first, const Row& row, const Inputs& in) {
  return {kv_first, lines_at(row, kv_first, in)};
}
#else
__device__ __forceinline__ BlockTerms terms_of(int kv_first, const Row&, const Inputs&) {
  return {kv_first};
}
#endif

// A raw product as an exponent of 2, the maximum not yet subtracted.
#if ATTN_PLAIN_SCORE
__device__ __forceinline__ float exponent_at(float product, int, const BlockTerms&, const Row&,
                                             const Inputs&) {
  return product * kExponentUnit;
}
#elif ATTN_AFFINE_SCORE
// `column` counts from the lane's first key of the block.
__device__ __forceinline__ float exponent_at(float product, int column, const BlockTerms& terms,
                                             const Row& row, const Inputs&) {
  return exponent_of(product, row, terms.base, column);
}
#else
// `column` counts from the lane's first key of the block.
__device__ __forceinline__ float exponent_at(float product, int column, const BlockTerms& terms,
                                             const Row& row, const Inputs& in) {
  int kv_idx = terms.kv_first + column;
#if ATTN_INPUTS
  kv_idx = min(kv_idx, row.seq_kv - 1);
#endif
#if ATTN_LINES
  return score_of(product, row, terms.lines, column, kv_idx, in) * kExponentUnit;
#else
  return score_of(product, row, kv_idx, in) * kExponentUnit;
#endif
}
#endif
