// The bias tile where TMA cannot bring it: rows that do not begin at multiples of 16 bytes. Each
// warp copies the 16 rows that it reads, while the block's products run.
#pragma once

// Where the elements of a group of columns lie in the tile.
__device__ __forceinline__ uint8_t* bias_at(uint8_t* tile, int row, int column) {
  constexpr int kOfGroup = 16 / kBiasBytes;
  return tile + swizzled<kChunkBias>(64, row, column / kOfGroup) + column % kOfGroup * kBiasBytes;
}

// An element a lane and time; rows and columns beyond the last repeat it.
__device__ __forceinline__ void copy_elements(uint8_t* tile, int first, const BiasElement* from,
                                              int row_length, int last_row, int last_column) {
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column >= kTileKv) break;
      *reinterpret_cast<BiasElement*>(bias_at(tile, first + i, column)) =
          __ldg(from + int64_t{min(i, last_row)} * row_length + min(column, last_column));
    }
  }
}

#if ATTN_BIAS_BYTES == 2
// Two elements a lane and time. Rows that begin between two words are put together from two. All
// rows' loads are on their way at once.
__device__ __forceinline__ void copy_pairs(uint8_t* tile, int first, const uint16_t* from,
                                           int row_length) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(from + int64_t{i} * row_length);
    const auto* const words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
#pragma unroll
    for (int j = 0; j < (kTileKv + 63) / 64; ++j) {
      const int word = 32 * j + threadIdx.x % 32;
      if (2 * word >= kTileKv) break;
      uint32_t pair = __ldg(words + word);
      if (address % 4 != 0) pair = pair >> 16 | __ldg(words + word + 1) << 16;
      *reinterpret_cast<uint32_t*>(bias_at(tile, first + i, 2 * word)) = pair;
    }
  }
}

#endif
__device__ __forceinline__ void copy_biases(uint8_t* tile, int q_first, int kv_first,
                                            const Row& row, const Params& p) {
  const int first = threadIdx.x / 32 % 4 * 16;
  const int last_row = max(p.seq_q - 1 - q_first - first, 0);  // from the warp's first
  const int64_t rows = int64_t{bias_matrix(row, p.inputs)} * p.seq_q;
  const auto* const from =
      bias_data(p.inputs) + (rows + min(q_first + first, p.seq_q - 1)) * p.seq_kv + kv_first;
#if ATTN_BIAS_BYTES == 2
  // Words reach an element beyond a row on either side, which must be the tensor's. The whole warp
  // votes, so that the compiler does not think it apart.
  const bool inside = rows + q_first + first > 0 && q_first + first + 16 < p.seq_q &&
                      kv_first + kTileKv < 2 * p.seq_kv;
  if (__all_sync(0xffffffffu, inside)) {
    copy_pairs(tile, first, from, p.seq_kv);
  } else {
    copy_elements(tile, first, from, p.seq_kv, last_row, p.seq_kv - 1 - kv_first);
  }
#else
  copy_elements(tile, first, from, p.seq_kv, last_row, p.seq_kv - 1 - kv_first);
#endif
  __syncwarp();
}
