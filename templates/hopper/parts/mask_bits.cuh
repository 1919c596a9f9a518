#if ATTN_TOKENS
// Which of a block's keys exist and meet the mask: a bit each, that who gathers them leaves. Of
#else
// The mask of a block's pairs, which comes with the keys: a bit each, made by the kernel before. Of
#endif
// each 128 keys a query has a word for each of the four threads that share its scores: of columns
// 8 j + 2 t and 8 j + 2 t + 1, bits 2 j and 2 j + 1 of thread t's.
#pragma once

constexpr int kMaskBytes = kTileQueries * kMaskWords * 4;  // of a tile and a block

// A thread's bits of a row.
struct MaskBits {
  uint32_t words[kMaskWords / 4];

  // Of its columns 8 j and 8 j + 1, by e.
  __device__ __forceinline__ bool operator()(int j, int e) const {
    return (words[j / 16] >> (j % 16 * 2 + e) & 1) != 0;
  }
};

__device__ __forceinline__ MaskBits load_mask_bits(const uint32_t* row) {
  MaskBits bits;
#pragma unroll
  for (int i = 0; i < kMaskWords / 4; ++i) bits.words[i] = row[4 * i + threadIdx.x % 4];
  return bits;
}
