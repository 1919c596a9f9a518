// A lane's scores of a block of keys, all of one query row, and what becomes of them.
#pragma once

// What a wave holds of a block of keys, and of all so far.
struct Wave {
  Row row;
  Scores products;  // raw, of the block before (in order of keys) the one that is weighed
  Weights weights;
  Output output = {};
#if ATTN_EXPONENTIAL
  Scores exponents;
  float greatest = -INFINITY;  // of the lane's exponents
  Softmax softmax;
#else
  Reductions reductions;
#endif
};

constexpr int kPairs = kTileKv / 4;  // of a lane's scores

#if ATTN_EXPONENTIAL
// Which pairs of a block exist for the lane's row, by the key, counted from the lane's first.
template <bool kCut>
class Existing {  // all of them
 public:
  __device__ __forceinline__ Existing(const Wave&, int, const Params&) {}
  __device__ constexpr bool operator()(int, const Params&) const { return true; }
};
template <>
class Existing<true> {
 public:
#if ATTN_INTERVAL_MASK
  __device__ __forceinline__ Existing(const Wave& w, int block, const Params& p)
#else
  __device__ __forceinline__ Existing(const Wave& w, int block, const Params&)
#endif
      : row_(w.row), kv_first_(block * kTileKv + 4 * lane_half()) {
    pin(row_.q_idx);  // keeps what follows from it out of the loop's registers
    row_.q_pos = row_.q_idx + (row_.seq_kv - row_.seq_q);
#if ATTN_INTERVAL_MASK
    const KeyRange range = key_range(row_.q_idx, row_.q_idx, row_, p.inputs);
    // Pinned, keys compare with numbers that fit an instruction.
    end_ = range.end - kv_first_;
    pin(end_);
#if !ATTN_KEYS_FROM_FIRST
    begin_ = range.begin - kv_first_;
    pin(begin_);
#endif
#endif
  }
#if ATTN_INTERVAL_MASK
  __device__ __forceinline__ bool operator()(int key, const Params&) const {
#if ATTN_KEYS_FROM_FIRST
    return key < end_;
#else
    return key >= begin_ && key < end_;
#endif
  }
#else
  __device__ __forceinline__ bool operator()(int key, const Params& p) const {
    return kv_first_ + key < row_.seq_kv && pair_exists(row_, kv_first_ + key, p.inputs);
  }
#endif

 private:
  Row row_;
  int kv_first_;
#if ATTN_INTERVAL_MASK
  int end_;
#if !ATTN_KEYS_FROM_FIRST
  int begin_;
#endif
#endif
};

__device__ __forceinline__ BlockTerms terms_at(const Wave& w, int block, const Params& p) {
  return terms_of(block * kTileKv + 4 * lane_half(), w.row, p.inputs);
}

// Products to exponents: the pairs first .. last - 1 of the lane's.
template <typename Exists>
__device__ __forceinline__ void finish(Wave& w, const BlockTerms& terms, int first, int last,
                                       const Exists& exists, const Params& p) {
#pragma unroll
  for (int i = first; i < last; ++i) {
    const int j = i / 8, e = i % 8 * 2, key = key_of(j, e);
    const float x = exponent_at(w.products[j][e], key, terms, w.row, p.inputs),
                y = exponent_at(w.products[j][e + 1], key + 1, terms, w.row, p.inputs);
    w.exponents[j][e] = exists(key, p) ? x : -INFINITY;
    w.exponents[j][e + 1] = exists(key + 1, p) ? y : -INFINITY;
    w.greatest = fmaxf(fmaxf(w.exponents[j][e], w.exponents[j][e + 1]), w.greatest);
    pin(w.greatest);
  }
}

#if !ATTN_INTERVAL_MASK
// Takes the pairs out that do not exist, where that may take loads.
__device__ __forceinline__ void cut(Wave& w, int block, const Params& p) {
  const Existing<true> exists(w, block, p);
  w.greatest = -INFINITY;
#pragma unroll
  for (int j = 0; j < kKeyBlocks; ++j) {
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      w.exponents[j][e] = exists(key_of(j, e), p) ? w.exponents[j][e] : -INFINITY;
      w.greatest = fmaxf(w.greatest, w.exponents[j][e]);
      if (e % 4 == 3) keep_order();  // else comparisons fill all scalar registers
    }
  }
}
#endif

// A new maximum, if a row's scores ask for one.
__device__ __forceinline__ void adopt(Wave& w, const Params& p) {
  if (any_lane(w.greatest > w.softmax.limit)) {
    const float factor = w.softmax.raise(w.greatest, w.row, p.inputs);
#pragma unroll
    for (int j = 0; j < kOutputBlocks; ++j) w.output[j] *= factor;
  }
  w.greatest = -INFINITY;
}

// Exponents to weights, in half steps: first the exponentials of a pair, then its sum and packing.
__device__ __forceinline__ void weigh(Wave& w, int first, int last) {
#pragma unroll
  for (int half = first; half < last; ++half) {
    const int i = half / 2, j = i / 8, e = i % 8 * 2;
    if (half % 2 == 0) {
      const Pair x = Pair{w.exponents[j][e], w.exponents[j][e + 1]} - w.softmax.shift;
      w.exponents[j][e] = exp2_approx(x.x);
      w.exponents[j][e + 1] = exp2_approx(x.y);
    } else {
      const Pair weight{w.exponents[j][e], w.exponents[j][e + 1]};
      w.softmax.sum[i % 2] += weight;
      pin(w.softmax.sum[i % 2]);
      w.weights[i / 2][i % 2] = pack_weights(weight.x, weight.y);
    }
  }
}
constexpr int kWeighSteps = 2 * kPairs;
#else
__device__ __forceinline__ void weigh_block(Wave& w, int block, bool full, const Params& p) {
  const int kv_first = block * kTileKv + 4 * lane_half();
#if !ATTN_ROW_FREE
  const float factor = full ? absorb<false>(w.products, kv_first, w.row, p.inputs, w.reductions)
                            : absorb<true>(w.products, kv_first, w.row, p.inputs, w.reductions);
#else
  full ? absorb<false>(w.products, kv_first, w.row, p.inputs, w.reductions)
       : absorb<true>(w.products, kv_first, w.row, p.inputs, w.reductions);
#endif
#if ATTN_WEIGHTS_WAIT
  // In a block that is whole no pair is asked whether it counts.
  if (full && !has_started(loop_rows(w.reductions, w.row, p.inputs))) {
    drop_weights(w.products, w.reductions);
  }
#endif
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int j = i / 8, e = i % 8 * 2;
    w.weights[i / 2][i % 2] = pack_weights(w.products[j][e], w.products[j][e + 1]);
  }
#if !ATTN_ROW_FREE
  if (any_lane(factor != 1)) {
#pragma unroll
    for (int j = 0; j < kOutputBlocks; ++j) w.output[j] *= factor;
  }
#endif
}
#endif
