// The spec's own functions. The generator writes them; these are causal softmax attention.
#pragma once

struct Inputs {};

// Where a row of scores stands.
struct Row {
  int b, h, h_kv, q_idx, q_pos, seq_q, seq_kv;
#if ATTN_VARLEN
  int q_begin, kv_begin;  // of the sequence in the packed tensors
  int64_t first_save;     // of this head's queries in the saves
#endif
};

#if ATTN_MASKED
// mask: kv_idx <= q_pos
__device__ __forceinline__ bool pair_exists(const Row& row, int kv_idx, const Inputs&) {
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

// The running reductions of a row.
struct Reductions {
  float max_score = -INFINITY;  // rowmax(score)
  float sum_exp = 0;            // rowsum(exp(score - m)), this thread's keys
};

__device__ __forceinline__ float row_max(float max_score, const Row&, const Inputs&) {
  return max_score;
}

// Over the two lanes that share a row.
__device__ __forceinline__ float pair_sum(float x) { return x + other_half(x); }

// A thread's reductions to those of the row.
__device__ __forceinline__ Reductions complete(Reductions red) {
  red.sum_exp = pair_sum(red.sum_exp);
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
#if ATTN_VARLEN
  float* lse;  // [heads, total_q]
#else
  float* lse;  // [batch, heads, seq_q]
#endif
};

__device__ __forceinline__ void store_saves(const Saves& saves, const RowValues& values,
                                            const Row& row, const Inputs&) {
#if ATTN_VARLEN
  const int64_t index = row.first_save + row.q_idx;
#else
  const int64_t index = (int64_t{row.b} * kHeadsQ + row.h) * row.seq_q + row.q_idx;
#endif
  if (saves.lse) saves.lse[index] = values.m + __logf(values.l);
}
