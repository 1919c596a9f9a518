// The bias tile: of a tensor with an element for each pair, which comes with the keys.
#if ATTN_MASK_BIAS
// Here the mask reads it.
#endif
#pragma once

#if ATTN_BIAS_BYTES != 2
// Where an element lies in the tile of 64 rows, in bytes.
__device__ __forceinline__ int bias_place(int row, int column) {
  constexpr int kOfGroup = 16 / kBiasBytes;
  return swizzled<kChunkBias>(64, row, column / kOfGroup) + column % kOfGroup * kBiasBytes;
}

#endif
// The biases of a thread's pairs, which lie as its scores do.
struct SwizzledBiases {
#if ATTN_BIAS_BYTES == 4
  float elements[kTileKv / 8][2][2];
#else
  uint32_t pairs[kTileKv / 8][2];  // of two columns
#endif

#if ATTN_BIAS_BYTES == 1
  __device__ __forceinline__ int operator()(int j, int r, int e) const {
    return static_cast<int>(e == 0 ? pairs[j][r] & 0xff : pairs[j][r] >> 8);
  }
#else
  __device__ __forceinline__ float operator()(int j, int r, int e) const {
#if ATTN_BIAS_BYTES == 4
    return elements[j][r][e];
#elif ATTN_BIAS_FP16
    return from_fp16(static_cast<uint16_t>(pairs[j][r] >> 16 * e));
#else
    return __uint_as_float(e == 0 ? pairs[j][r] << 16 : pairs[j][r] & 0xffff0000u);
#endif
  }
#endif
  // Both rows' are the tile.
  static __device__ __forceinline__ SwizzledBiases load(const uint8_t* tile, const uint8_t*);
};

__device__ __forceinline__ SwizzledBiases load_biases(const uint8_t* tile) {
  SwizzledBiases biases;
  const int lane = threadIdx.x % 32;
#if ATTN_BIAS_BYTES != 2
#pragma unroll
  for (int j = 0; j < kTileKv / 8; ++j) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#if ATTN_BIAS_GROUPED
      const int row = (threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r) / kGroupRows;
#else
      const int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r;
#endif
      const uint8_t* const pair = tile + bias_place(row, 8 * j + lane % 4 * 2);
#if ATTN_BIAS_BYTES == 4
      const float2 elements = *reinterpret_cast<const float2*>(pair);
      biases.elements[j][r][0] = elements.x;
      biases.elements[j][r][1] = elements.y;
#else
      biases.pairs[j][r] = *reinterpret_cast<const uint16_t*>(pair);
#endif
    }
  }
#else
#pragma unroll
  for (int j = 0; j < kTileKv / 8; j += 2) {
    uint32_t x[4];
#if ATTN_BIAS_GROUPED
    load_matrices(x, tile + swizzled<kChunkBias>(64, named_row() / kGroupRows, j + lane / 16));
#else
    load_matrices(x, tile + swizzled<kChunkBias>(64, named_row(), j + lane / 16));
#endif
    biases.pairs[j][0] = x[0];
    biases.pairs[j][1] = x[1];
    biases.pairs[j + 1][0] = x[2];
    biases.pairs[j + 1][1] = x[3];
  }
#endif
  return biases;
}

__device__ __forceinline__ SwizzledBiases SwizzledBiases::load(const uint8_t* tile,
                                                               const uint8_t*) {
  return load_biases(tile);
}
