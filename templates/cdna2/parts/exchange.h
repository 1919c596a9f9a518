// Between the lanes of a wave. The lanes l and l + 32 hold the same query row.
#pragma once

// Computed here and held in a register: not earlier, outside of a loop, and not later.
template <typename T>
__device__ __forceinline__ void pin(T& x) {
  asm volatile("" : "+v"(x));
}

#if ATTN_OTHER_HALF
__device__ __forceinline__ float other_half(float x) {
  int thread = threadIdx.x;
  pin(thread);
  return __int_as_float(__builtin_amdgcn_ds_bpermute((thread % 64 ^ 32) * 4, __float_as_int(x)));
}
#endif
#if ATTN_EXPONENTIAL || !ATTN_ROW_FREE
__device__ __forceinline__ bool any_lane(bool x) { return __ballot(x) != 0; }
#endif

// The same value in all lanes: it then stays in a scalar register.
__device__ __forceinline__ int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }
template <typename T>
__device__ __forceinline__ T* uniform(T* pointer) {
  const uint64_t bits = reinterpret_cast<uint64_t>(pointer);
  const uint32_t low = uniform(static_cast<int>(bits)),
                 high = uniform(static_cast<int>(bits >> 32));
  return reinterpret_cast<T*>(static_cast<uint64_t>(high) << 32 | low);
}

// All waves of the block: what was written to LDS before is read after. Loads from global memory
// stay in flight, which they would not across __syncthreads.
__device__ __forceinline__ void sync_block() {
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
}
