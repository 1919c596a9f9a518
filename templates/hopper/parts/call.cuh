// Calls have numbers. The workspace holds anything when a call begins: what stands there beside the
// call's number, the call itself has written.
#pragma once

// Who waits for it finds all that the thread wrote before, and that its warp wrote before it last
// came into step.
__device__ __forceinline__ void leave_number(uint64_t& place, uint64_t call) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(&place), "l"(call) : "memory");
}

__device__ __forceinline__ void wait_for_number(const uint64_t& place, uint64_t call) {
  uint64_t found;
  do {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(&place) : "memory");
  } while (found != call);
}

// A number for a call: no other's, and 64 bits that memory does not hold by chance. A graph that is
// replayed comes with the same one: it has to be taken away again.
uint64_t call_number() {
  static std::atomic<uint64_t> calls{0};
  return (calls.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15;
}
