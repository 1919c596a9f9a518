// Copies of a thread from memory to shared memory, on their way until it waits for them.
#pragma once

#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
// Of 4 bytes.
__device__ __forceinline__ void copy_word(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}

#endif
#if ATTN_TABLE_BYTES || ATTN_BIAS_SHIFTED
constexpr int kCopyChunk = 16;  // bytes, at a multiple of so many

// The first `bytes` of a chunk; the rest becomes zeros.
__device__ __forceinline__ void copy_chunk(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
}

#endif
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
