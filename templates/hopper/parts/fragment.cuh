// How a warpgroup holds a 64-row tile in registers: x[group][row][pair].
//
// Warp w has rows 16 w .. 16 w + 15. Lane l has, of each group of 8 columns, the columns
// 2 (l % 4) and 2 (l % 4) + 1 of the rows l / 4 (row 0) and l / 4 + 8 (row 1): the accumulator
// layout of wgmma (PTX ISA, "wgmma.mma_async", figure for D), which is also that of its A operand.
#pragma once

__device__ __forceinline__ uint32_t pack(float low, float high) {
  uint32_t packed;
#if ATTN_BF16
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#endif
  return packed;
}

#if ATTN_FAR || ATTN_QUERY_SHIFT
// Of two bf16 numbers.
__device__ __forceinline__ float low_half(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_half(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

#endif
#if ATTN_POSITIVE_PART && !ATTN_WEIGHTS_SHARED
// Of what is larger than 0; a NaN stays one.
__device__ __forceinline__ uint32_t pack_positive_part(float low, float high) {
  uint32_t packed;
#if ATTN_BF16
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#else
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#endif
  return packed;
}

#endif
template <int kGroups>
__device__ __forceinline__ void clear(float (&x)[kGroups][2][2]) {
#pragma unroll
  for (int j = 0; j < kGroups; ++j) {
    x[j][0][0] = x[j][0][1] = x[j][1][0] = x[j][1][1] = 0;
  }
}

// Byte offset of eight columns (a group) of a row in a swizzled tile of chunks of `rows` rows: the
// group's place among its row's is exchanged with others by the row's own number.
template <int kChunk>
__device__ __forceinline__ int swizzled(int rows, int row, int group) {
  constexpr int kGroups = kChunk / 8;
  const int exchange = kChunk == 64 ? row % 8 : row / 2 % 4;
  return group / kGroups * chunk_bytes(rows, kChunk) + row * kChunk * kElementBytes +
         (group % kGroups ^ exchange) * 16;
}

// The row, of a tile of 64, that a lane names to ldmatrix and stmatrix: four 8x8 matrices are the
// warp's 16 rows of two groups, and lanes 0 to 15 name those of the first.
__device__ __forceinline__ int named_row() { return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 16; }

// Writes the warp's 16 rows into a tile of 64 rows.
template <int kChunk, int kGroups>
__device__ __forceinline__ void store_fragments(uint8_t* tile, const float (&x)[kGroups][2][2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < kGroups; j += 2) {
    const int next = j + 1 < kGroups ? j + 1 : j;  // an odd last group fills an unused column
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(tile + swizzled<kChunk>(64, named_row(), j + lane / 16))),
                 "r"(pack(x[j][0][0], x[j][0][1])), "r"(pack(x[j][1][0], x[j][1][1])),
                 "r"(pack(x[next][0][0], x[next][0][1])), "r"(pack(x[next][1][0], x[next][1][1]))
                 : "memory");
  }
}

#if ATTN_RECOMPUTE || (ATTN_FAR && ATTN_FAR_QUERIES) || ATTN_KEY_SUMS || ATTN_BIAS_MATRICES
// Four 8x8 matrices of 16-bit elements; each lane names one row of 16 bytes.
__device__ __forceinline__ void load_matrices(uint32_t (&x)[4], const uint8_t* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(row)));
}
#endif
