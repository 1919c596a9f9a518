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
  leave_number(counter.call, call);
}

// The last block to leave takes the number away.
__device__ __forceinline__ void leave_counter(Counter& counter, uint64_t call) {
  if (atomicAdd(&counter.ended, 1) == gridDim.x - 1) counter.call = ~call;
}
