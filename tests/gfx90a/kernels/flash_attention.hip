// Flash attention, forward, head dim 64 or 128, fp16 or bf16: a plain kernel to test the
// interpreter with, and to measure its speed. Compile with -DHEAD_DIM=64 or 128, -DBF16=0 or 1.
//
// Four waves of 32 queries. S^T = K Q^T leaves P^T in registers in just the layout that the second
// product, O^T = V^T P^T, wants of its operand. K lies in LDS as [key][dim], V as [dim][key], with
// rows padded by 16 bytes.
#include "device.h"

#define INFINITY_F __builtin_inff()

struct Params {
  const short *q, *k, *v;  // [head][seq][HEAD_DIM]
  short* o;
  float* lse;  // [head][seq_q]
  int seq_q, seq_kv, causal;
  float scale_log2;  // softmax scale times log2(e)
};

constexpr int kDim = HEAD_DIM, kKeys = 64, kQueries = 128;
constexpr int kKeyRow = kDim + 8, kValueRow = kKeys + 8;

using Rounded = unsigned short;

__device__ inline Rounded round_to_storage(float x) {
#if BF16
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
#else
  return __builtin_bit_cast(Rounded, static_cast<_Float16>(x));
#endif
}

__device__ inline float16 multiply(short4 a, short4 b, float16 c) {
#if BF16
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
#else
  return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(half4, a),
                                              __builtin_bit_cast(half4, b), c, 0, 0, 0);
#endif
}

// The other half-wave's value.
__device__ inline float exchanged(float x) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  const int bits = __builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, __builtin_bit_cast(int, x));
  return __builtin_bit_cast(float, bits);
}

// Keys beyond `last`, counted from this half-wave's first, get no weight.
__device__ inline void mask_scores(float16 (&s)[kKeys / 32], int last) {
  for (int block = 0; block < kKeys / 32; ++block) {
    for (int r = 0; r < 16; ++r) {
      if (32 * block + r % 4 + 8 * (r / 4) > last) s[block][r] = -INFINITY_F;
    }
  }
}

extern "C" __global__ void
    __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(2, 2)))
    flash_attention(Params p) {
  __shared__ short keys[kKeys * kKeyRow];
  __shared__ short values[kDim * kValueRow];
  const int thread = __builtin_amdgcn_workitem_id_x();
  const int lane = thread % 64, wave = thread / 64, half = lane / 32;
  const int head = __builtin_amdgcn_workgroup_id_y();
  const int first_query = __builtin_amdgcn_workgroup_id_x() * kQueries;
  const int query = first_query + wave * 32 + lane % 32;
  const short* q = p.q + static_cast<long>(head) * p.seq_q * kDim;
  const short* k = p.k + static_cast<long>(head) * p.seq_kv * kDim;
  const short* v = p.v + static_cast<long>(head) * p.seq_kv * kDim;

  short8 q_fragment[kDim / 16];  // Q^T: element 8 half + e of 16 dims
  for (int d = 0; d < kDim / 16; ++d) {
    q_fragment[d] = short8{};
    if (query < p.seq_q) {
      q_fragment[d] =
          *reinterpret_cast<const short8*>(q + static_cast<long>(query) * kDim + 16 * d + 8 * half);
    }
  }
  float16 o[kDim / 32] = {};
  float row_max = -1e30f, row_sum = 0;
  const int offset = p.seq_kv - p.seq_q;  // causal masks align the last query and key
  int end = p.seq_kv;
  if (p.causal && first_query + kQueries + offset < end) end = first_query + kQueries + offset;
  for (int first_key = 0; first_key < end; first_key += kKeys) {
#ifndef NO_FIRST_BARRIER  // tests leave it out
    synchronize();
#endif
    // Each thread takes 8 dims of two neighbouring keys, so that V is transposed in pairs.
    for (int i = thread; i < kKeys / 2 * kDim / 8; i += 256) {
      const int key = i % (kKeys / 2) * 2, d = i / (kKeys / 2) * 8;
      short8 k8[2] = {}, v8[2] = {};
      for (int n = 0; n < 2; ++n) {
        if (first_key + key + n >= p.seq_kv) continue;
        const long at = static_cast<long>(first_key + key + n) * kDim + d;
        k8[n] = *reinterpret_cast<const short8*>(k + at);
        v8[n] = *reinterpret_cast<const short8*>(v + at);
      }
      for (int n = 0; n < 2; ++n)
        *reinterpret_cast<short8*>(&keys[(key + n) * kKeyRow + d]) = k8[n];
      for (int e = 0; e < 8; ++e) {
        *reinterpret_cast<short2*>(&values[(d + e) * kValueRow + key]) = short2{v8[0][e], v8[1][e]};
      }
    }
#ifndef NO_SECOND_BARRIER
    synchronize();
#endif
    float16 s[kKeys / 32] = {};
    for (int block = 0; block < kKeys / 32; ++block) {
      for (int d = 0; d < kDim / 16; ++d) {
        // K-dim order is free: each half-wave takes 8 neighbouring dims, for two products.
        const short8 k8 = *reinterpret_cast<const short8*>(
            &keys[(32 * block + lane % 32) * kKeyRow + 16 * d + 8 * half]);
        const short8 q8 = q_fragment[d];
        s[block] = multiply(k8.lo, q8.lo, s[block]);
        s[block] = multiply(k8.hi, q8.hi, s[block]);
      }
    }
    const bool partial =
        first_key + kKeys > p.seq_kv || (p.causal && first_key + kKeys - 1 > first_query + offset);
    const int last_key = p.causal && query + offset < p.seq_kv ? query + offset : p.seq_kv - 1;
    if (partial) mask_scores(s, last_key - first_key - 4 * half);
    float tile_max = -1e30f;
    for (int block = 0; block < kKeys / 32; ++block) {
      for (int r = 0; r < 16; ++r) tile_max = __builtin_fmaxf(tile_max, s[block][r]);
    }
    tile_max *= p.scale_log2;  // positive
    tile_max = __builtin_fmaxf(tile_max, exchanged(tile_max));
    const float new_max = __builtin_fmaxf(row_max, tile_max);
    const float factor = __builtin_exp2f(row_max - new_max);
    row_max = new_max;
    row_sum *= factor;
    for (int d = 0; d < kDim / 32; ++d) o[d] *= factor;
    for (int block = 0; block < kKeys / 32; ++block) {
      for (int group = 0; group < 4; ++group) {  // keys 8 group .. 8 group + 7
        short4 p4;
        for (int e = 0; e < 4; ++e) {
          const float weight =
              __builtin_exp2f(__builtin_fmaf(s[block][4 * group + e], p.scale_log2, -new_max));
          row_sum += weight;
          p4[e] = static_cast<short>(round_to_storage(weight));
        }
        for (int d = 0; d < kDim / 32; ++d) {
          const short4 v4 = *reinterpret_cast<const short4*>(
              &values[(32 * d + lane % 32) * kValueRow + 32 * block + 8 * group + 4 * half]);
          o[d] = multiply(v4, p4, o[d]);
        }
      }
    }
  }
  row_sum += exchanged(row_sum);
  if (query >= p.seq_q) return;
  const float inverse = row_sum > 0 ? 1 / row_sum : 0;
  short* out = p.o + (static_cast<long>(head) * p.seq_q + query) * kDim;
  for (int d = 0; d < kDim / 32; ++d) {
    for (int r = 0; r < 16; ++r) {
      const int dim = 32 * d + r % 4 + 4 * half + 8 * (r / 4);
      out[dim] = static_cast<short>(round_to_storage(o[d][r] * inverse));
    }
  }
  if (half == 0) {
    p.lse[static_cast<long>(head) * p.seq_q + query] =
        row_sum > 0 ? (row_max + __builtin_log2f(row_sum)) * 0.693147181f : -INFINITY_F;
  }
}
