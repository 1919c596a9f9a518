// Copies of a thread from memory to shared memory, on their way until it waits for them, or a
// barrier does.
#pragma once

#if ATTN_ROW_BY_ROW
// Of 16 bytes; where there is no place that they stand at (-1), zeros.
__device__ __forceinline__ void copy_chunk_at(int place, void* to, const void* from) {
  asm volatile(
      "{\n"
      ".reg .pred none;\n"
      "setp.lt.s32 none, %2, 0;\n"
      "cp.async.cg.shared.global [%0], [%1], 16, none;\n"
      "}" ::"r"(shared_address(to)),
      "l"(from), "r"(place)
      : "memory");
}

#endif
#if ATTN_ROW_BY_ROW || ATTN_BIAS
// Arrives for the thread once its copies until now are there.
__device__ __forceinline__ void arrive_once_copied(uint64_t& barrier) {
  asm volatile(
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier))
      : "memory");
}

#endif
#if ATTN_TABLE_BYTES || ATTN_BIAS
constexpr int kCopyChunk = 16;  // bytes, at a multiple of so many

__device__ __forceinline__ void copy_chunk(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}

#endif
#if ATTN_BIAS
// Of the first `count` bytes of a chunk; zeros behind them.
__device__ __forceinline__ void copy_bytes(int count, void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(count)
               : "memory");
}

#endif
#if ATTN_TABLE_BYTES
// Of a tensor that ends there. What is of a last chunk comes byte by byte, at once.
__device__ __forceinline__ void copy_chunk_before(uintptr_t end, uint8_t* to, uintptr_t from) {
  if (from + kCopyChunk <= end) {
    copy_chunk(to, reinterpret_cast<const void*>(from));
    return;
  }
#pragma unroll 1
  for (int i = 0; from + i < end; ++i) to[i] = __ldg(reinterpret_cast<const uint8_t*>(from + i));
}

__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
#endif
