// Between the lanes of a wave. The lanes l and l + 32 hold the same query row.
#pragma once

__device__ __forceinline__ float other_half(float x) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  return __int_as_float(__builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, __float_as_int(x)));
}
// Over the two lanes that share a row.
__device__ __forceinline__ float pair_max(float x) { return fmaxf(x, other_half(x)); }
__device__ __forceinline__ float pair_sum(float x) { return x + other_half(x); }

__device__ __forceinline__ bool any_lane(bool x) { return __ballot(x) != 0; }

// The same value in all lanes: it then stays in a scalar register.
__device__ __forceinline__ int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }

// All waves of the block: what was written to LDS before is read after. Loads from global memory
// stay in flight, which they would not across __syncthreads.
__device__ __forceinline__ void sync_block() {
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
}
