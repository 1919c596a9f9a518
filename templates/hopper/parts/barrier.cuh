// Barriers: mbarriers between the producer and the consumers, named barriers among consumers.
#pragma once

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(uint64_t& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(arrivals));
}

// Barriers initialised by this thread become visible to TMA.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
               : "memory");
}

// Arrives, and makes the phase wait for `bytes` of TMA traffic too.
__device__ __forceinline__ void barrier_expect(uint64_t& barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
}

#if ATTN_MASK_BITS && !ATTN_TOKENS
// Of TMA traffic besides, before the arrival.
__device__ __forceinline__ void barrier_expect_more(uint64_t& barrier, int bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
}

#endif
// Whether the phase of this parity has completed.
__device__ __forceinline__ bool barrier_test(uint64_t& barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
      "selp.u32 %0, 1, 0, done;\n"
      "}"
      : "=r"(done)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Waits until the phase of this parity has completed.
__device__ __forceinline__ void barrier_wait(uint64_t& barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// Tells the compiler that all threads of a warp hold the same value: it then keeps what derives
// from it, wgmma descriptors above all, in uniform registers.
__device__ __forceinline__ int uniform(int x) { return __shfl_sync(0xffffffffu, x, 0); }

// What lane 0 reads, which arrives for its warp once a slot may be written again.
template <typename T>
__device__ __forceinline__ T read_by_lane_0(const T& from) {
  T x{};
  if (threadIdx.x % 32 == 0) x = from;
  return uniform(x);
}

// A slot of a ring and the parity of its current round: two plain variables, since their latency
// stands between two products (one counter that both derive from costs 2-9 % of the kernel's time).
template <int kSlots>
struct RingSlot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index == kSlots) {
      index = 0;
      parity ^= 1;
    }
  }
};

#if ATTN_PING_PONG || ATTN_SIDES > 1
// Named barriers 1..kWarpgroups order the warpgroups, the next kWarpgroups gather one warpgroup;
// 0 is __syncthreads.
#else
// Named barriers from 1 + kWarpgroups on gather one warpgroup each; 0 is __syncthreads.
#endif
#if ATTN_MAPS > 1
// Then come two for each pair: its queries are read, its sum is written.
#elif ATTN_SIDES > 1
// Then come those of both sides of a row block.
#endif
__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#if ATTN_PING_PONG || ATTN_SIDES > 1
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#endif
