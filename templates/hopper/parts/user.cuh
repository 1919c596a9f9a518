// The spec's own functions. The generator writes them; these are causal softmax attention.
#pragma once

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#if ATTN_BIAS
struct Inputs {
  const uint16_t* bias;  // [heads, seq_q, seq_kv]
};
#elif ATTN_ID_TABLES
struct Inputs {
  ::int4* attn_tables[1] = {};
  ::uint4* attn_mask_bits = nullptr;
};
#else
struct Inputs {};
#endif

// Where a row of scores stands.
struct Row {
#if ATTN_MAPS > 1
  int b, h, h_kv, q_idx, q_pos, seq_q, seq_kv, map;
#else
  int b, h, h_kv, q_idx, q_pos, seq_q, seq_kv;
#endif
#if ATTN_VARLEN
  int q_begin, kv_begin;  // of the sequence in the packed tensors
  int64_t first_save;     // of this head's queries in the saves
#endif
#if ATTN_GATHER
  int apart;  // what a key of the second block is beyond its place in the step
#endif
#if ATTN_ROWS_DIFFER
  int end;  // of its keys in the block at hand: 0 where its query does not keep that
#endif
#if ATTN_BIAS
  const uint8_t* bias;  // in shared memory: its own, or the tile of the block at hand
#endif
#if ATTN_MASK_BITS
  const uint32_t* bits;  // in shared memory: the mask of its pairs at hand
#endif
#if ATTN_LISTED_KEYS
  const int* listed;  // in shared memory: the block's keys, from the thread's first on
#endif
};

#if ATTN_BIAS
__device__ __forceinline__ int bias_matrix(const Row& row, const Inputs&) { return row.h; }
__host__ __device__ int64_t bias_matrices(int64_t) { return kHeadsQ; }
__host__ __device__ const uint16_t* bias_data(const Inputs& in) { return in.bias; }

// score: score + bias[h, q_idx, kv_idx]
__device__ __forceinline__ float score_of(float product, float bias, const Row&, int,
                                          const Inputs&) {
  return product * kScale + bias;
}

#endif
#if ATTN_MASKED
// mask: kv_idx <= q_pos
__device__ __forceinline__ bool pair_exists(const Row& row, int, int kv_idx, const Inputs&) {
  return kv_idx <= row.q_pos;
}
#endif

// The keys that rows q_first..q_last may need, and those that all of them do.
struct KeyRange {
  int begin, end, full_begin, full_end;
};

__device__ __forceinline__ KeyRange key_range(int q_first, int q_last, const Row& row,
                                              const Inputs&) {
#if ATTN_MASKED
  const int shift = row.seq_kv - row.seq_q;
  return {0, max(0, min(row.seq_kv, q_last + shift + 1)), 0,
          max(0, min(row.seq_kv, q_first + shift + 1))};
#else
  return {0, row.seq_kv, 0, row.seq_kv};
#endif
}

#if ATTN_ID_TABLES
// A kernel before this one asks each pair beforehand, or makes bits of lists.
constexpr bool kPairsOfBatch = true;
constexpr int kPairHeads = kHeadsKv;
__device__ __forceinline__ bool mask_holds(const Row& row, int kv_idx, const Inputs&) {
  return kv_idx <= row.q_pos;
}
#include "pair_entry.cuh"

__device__ __forceinline__ PairEntry entry_of(int q_first, int kv_first, const Row& row,
                                              const Inputs& in) {
  return unpacked_pairs(__ldg(&in.attn_tables[0][pair_entry(q_first, kv_first, row)]));
}
__device__ __forceinline__ bool block_kept(int q_first, int, int kv_first, int, const Row& row,
                                           const Inputs& in) {
  return entry_of(q_first, kv_first, row, in).any;
}
__device__ __forceinline__ bool block_full(int q_first, int, int kv_first, int, const Row& row,
                                           const Inputs& in) {
  return entry_of(q_first, kv_first, row, in).all;
}

#endif
// The running reductions of a row.
struct Reductions {
  float max_score = -INFINITY;  // rowmax(score)
  float sum_exp = 0;            // rowsum(exp(score - m)), this thread's columns
};

__device__ __forceinline__ float row_max(float max_score, const Row&, const Inputs&) {
  return max_score;
}

// Sums over the four threads of a row.
__device__ __forceinline__ Reductions complete(Reductions red) {
  red.sum_exp = quad_sum(red.sum_exp);
  return red;
}

struct RowValues {
  float m, l, output_scale;
};

__device__ __forceinline__ RowValues row_values(const Reductions& red, const Row&, const Inputs&) {
  const float m = red.max_score;
  const float l = red.sum_exp;
  return {m, l, l > 0 ? 1 / l : 0};
}

__device__ __forceinline__ float output_of(float acc, const RowValues& values, const Row&,
                                           const Inputs&) {
  return acc * values.output_scale;
}

struct Saves {
  float* lse;  // [batch, heads, seq_q]
};

__device__ __forceinline__ void store_saves(const Saves& saves, const RowValues& values,
                                            const Row& row, const Inputs&) {
#if ATTN_VARLEN
  const int64_t index = row.first_save + row.q_idx;
#elif ATTN_MAPS > 1
  const int64_t head = (int64_t{row.b} * kHeadsQ + row.h) * kMaps + row.map;
  const int64_t index = head * row.seq_q + row.q_idx;
#else
  const int64_t index = (int64_t{row.b} * kHeadsQ + row.h) * row.seq_q + row.q_idx;
#endif
  if (saves.lse) saves.lse[index] = values.m + __logf(values.l);
}
