// Products of keys far behind (parts/chunks.cuh), and of their state.
#pragma once

// The warpgroup's queries in registers: a product of 64 keys that had both operands in shared
// memory would take all that it brings.
using Queries = uint32_t[kStepsQk][4];
__device__ __forceinline__ void load_queries(Queries& queries, const uint8_t* tile) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    load_matrices(queries[step], tile + swizzled<kChunkQk>(64, row, 2 * step + lane / 16));
  }
}

// S = Q K^T of a slot; asynchronous. K are keys, or 64 rows of a state: added to S unless `first`.
__device__ __forceinline__ void multiply_far(Scores& scores, const Queries& queries, uint64_t key,
                                             bool first) {
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    constexpr int kSteps = kChunkQk / 16;
    wgmma_far(scores, queries[step],
              key + step / kSteps * (chunk_bytes(kTileKv, kChunkQk) / 16) + step % kSteps * 2,
              step > 0 || !first);
  }
}
