// Sums over the threads of a block of kSortThreads.
#pragma once

constexpr int kSortThreads = 1024;

using BlockSums = int[kSortThreads / 32];  // shared: of each warp and those before it

struct BlockSum {
  int here, all;  // of the threads up to this one, and of all
};

// Of the lanes up to this one.
__device__ __forceinline__ int warp_sum(int x) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 >= step) x += before;
  }
  return x;
}

// All threads call it. It is not copied: that code comes from memory is most of what it takes.
__device__ __noinline__ BlockSum block_sum(int x, BlockSums& sums) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int of_warp = warp_sum(x);
  __syncthreads();  // all have read what the call before left
  if (lane == 31) sums[warp] = of_warp;
  __syncthreads();
  if (warp == 0) sums[lane] = warp_sum(sums[lane]);
  __syncthreads();
  return {of_warp + (warp > 0 ? sums[warp - 1] : 0), sums[kSortThreads / 32 - 1]};
}
