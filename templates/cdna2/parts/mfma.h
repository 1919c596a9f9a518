// Matrix products: D[32 x 32] += A[32 x 8] B[8 x 32], fp32 accumulators, one wave of 64 lanes.
//
// Lane l holds of A the row l % 32 and of B the column l % 32, both at the depths
// 4 (l / 32) .. 4 (l / 32) + 3; of D the column l % 32 and the rows 8 (r / 4) + 4 (l / 32) + r % 4,
// r = 0 .. 15. So D's registers 4 t .. 4 t + 3 are, packed, the B operand of depths 8 t .. 8 t + 7:
// the transposed scores feed the second product from registers.
#pragma once

typedef float Block __attribute__((ext_vector_type(16)));
#if ATTN_EXPONENTIAL
typedef float Pair __attribute__((ext_vector_type(2)));
#endif
#if ATTN_BF16
typedef int16_t Operand __attribute__((ext_vector_type(4)));
#else
typedef _Float16 Operand __attribute__((ext_vector_type(4)));
#endif

// Which bytes __builtin_amdgcn_perm(b, a, which) takes: both words' low or high halves, a's first.
constexpr uint32_t kLowHalves = 0x05040100, kHighHalves = 0x07060302;

// One half of a 16-byte chunk as an operand.
__device__ __forceinline__ Operand half_of(const Words4& chunk, int half) {
  const Words2 words = half == 0 ? chunk.lo : chunk.hi;
  return __builtin_bit_cast(Operand, words);
}

__device__ __forceinline__ Block multiply(Operand a, Operand b, Block d) {
#if ATTN_BF16
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, d, 0, 0, 0);
#else
  return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, d, 0, 0, 0);
#endif
}

#if ATTN_BF16
#if ATTN_EXPONENTIAL
// Rounds to the nearest; a value halfway between two, away from zero.
__device__ __forceinline__ uint32_t pack_weights(float low, float high) {
  return __builtin_amdgcn_perm(__float_as_uint(high) + 0x8000, __float_as_uint(low) + 0x8000,
                               kHighHalves);
}
#else
// Of a NaN with the greatest bits a plain sum would make 0, which no sum of weights need show here.
// The second limit is no instruction, but a mode of the addition.
__device__ __forceinline__ uint32_t add_half_unit(float x) {
  const auto bits = static_cast<uint32_t>(min(__float_as_int(x), 0x7fff0000));
  return min(bits, 0xffff7fffu) + 0x8000;
}
// Rounds to the nearest; a value halfway between two, away from zero. A NaN stays one.
__device__ __forceinline__ uint32_t pack_weights(float low, float high) {
  return __builtin_amdgcn_perm(add_half_unit(high), add_half_unit(low), kHighHalves);
}
#endif
// Rounds to the nearest even; a NaN stays one.
__device__ __forceinline__ uint32_t pack_one(float x) {
  const uint32_t bits = __float_as_uint(x);
  return x != x ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
__device__ __forceinline__ uint32_t pack(float low, float high) {
  return pack_one(low) | pack_one(high) << 16;
}
#else
__device__ __forceinline__ uint32_t pack(float low, float high) {
  typedef _Float16 Halves __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(uint32_t,
                            Halves{static_cast<_Float16>(low), static_cast<_Float16>(high)});
}
// Rounds towards zero: half the instructions.
__device__ __forceinline__ uint32_t pack_weights(float low, float high) {
  return __builtin_bit_cast(uint32_t, __builtin_amdgcn_cvt_pkrtz(low, high));
}
#endif

// Nothing moves across: the order of the source is the schedule.
__device__ __forceinline__ void keep_order() { __builtin_amdgcn_sched_barrier(0); }

// A block of scores, S^T, and the key of an element [j][e] among its block's, for a lane of the
// first half; 4 more for the second.
typedef Block Scores[kKeyBlocks];
__device__ constexpr int key_of(int j, int e) { return 32 * j + e / 4 * 8 + e % 4; }
