// The same scores once more, for one warp: when the fixed maximum of a row proves too low, its raw
// products are already gone. mma.sync has the accumulator layout of wgmma and needs no other warp.
#pragma once

__device__ __forceinline__ void mma_16x8x16(float (&d)[2][2], const uint32_t (&a)[4], uint32_t b0,
                                            uint32_t b1) {
#if ATTN_BF16
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[1][0]), "+f"(d[1][1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#if ATTN_MASK_AHEAD
__device__ __forceinline__ void recompute_scores(float (&scores)[kTileKv / 8][2][2], bool full,
                                                 int kv_first, const Row (&rows)[2],
                                                 const Inputs& in, const uint8_t* query,
                                                 const uint8_t* key) {
#else
__device__ __forceinline__ void recompute_scores(float (&scores)[kTileKv / 8][2][2],
                                                 const uint8_t* query, const uint8_t* key) {
#endif
  const int lane = threadIdx.x % 32;
  clear(scores);
#if ATTN_MASK_AHEAD
  if (!full) begin_scores(scores, kv_first, rows, in);
#endif
#pragma unroll 1
  for (int step = 0; step < kStepsQk; ++step) {
    uint32_t a[4];
    load_matrices(a, query + swizzled<kChunkQk>(64, named_row(), 2 * step + lane / 16));
#pragma unroll
    for (int j = 0; j < kTileKv / 8; j += 2) {
      uint32_t b[4];
      load_matrices(b, key + swizzled<kChunkQk>(kTileKv, 8 * j + lane / 16 * 8 + lane % 8,
                                                2 * step + lane / 8 % 2));
      mma_16x8x16(scores[j], a, b[0], b[1]);
      mma_16x8x16(scores[j + 1], a, b[2], b[3]);
    }
  }
}
