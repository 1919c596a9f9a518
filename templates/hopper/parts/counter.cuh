// The counter that hands out tiles. It lies in the workspace, which holds anything when a call
// begins: block 0 clears it and then writes down the call's number, for which the others wait
// before they ask for their second tile: blocks come to the cores in order, so that it is at work.
// (A kernel before this one would take a microsecond.)
#pragma once

struct __align__(16) Counter {
  uint64_t call;
  unsigned next;   // tiles handed out beyond the first of each block
  unsigned ended;  // blocks that found none left
};

__device__ __forceinline__ void clear_counter(Counter& counter, uint64_t call) {
  counter.next = counter.ended = 0;
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(&counter.call), "l"(call) : "memory");
}

__device__ __forceinline__ void wait_for_counter(const Counter& counter, uint64_t call) {
  uint64_t found;
  do {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                 : "=l"(found)
                 : "l"(&counter.call)
                 : "memory");
  } while (found != call);
}

// The last block to leave takes the number away: a graph that is replayed comes with the same one.
__device__ __forceinline__ void leave_counter(Counter& counter, uint64_t call) {
  if (atomicAdd(&counter.ended, 1) == gridDim.x - 1) counter.call = ~call;
}

// A number for a call: no other's, and 64 bits that memory does not hold by chance.
uint64_t call_number() {
  static std::atomic<uint64_t> calls{0};
  return (calls.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15;
}
