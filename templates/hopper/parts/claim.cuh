// Which tile comes next: a block's first is its own number, the others come from a counter.
#pragma once

// Whether a block may draw a tile beyond its first. Who opens the counter, who draws and who leaves
// must agree, or blocks hang.
__device__ __forceinline__ bool draws_tiles(const Params& p) {
  return p.tiles > static_cast<int>(gridDim.x);
}

#if ATTN_COUNTER
// By a warp that has nothing else to do then: the others have no registers for it.
__device__ __forceinline__ void open_counter(Shared& shared, const Params& p) {
  if (threadIdx.x % 32 == 0 && draws_tiles(p)) {
    if (blockIdx.x == 0) clear_counter(*p.counter, p.call);
    wait_for_number(p.counter->call, p.call);
    barrier_arrive(shared.counter_open);
  }
  __syncwarp();  // or the other lanes' next work might come first
}

#endif
// The index of another tile, in lane 0; none: p.tiles.
#if ATTN_COUNTER
__device__ __forceinline__ int claim_tile(Shared& shared, const Params& p) {
#else
__device__ __forceinline__ int claim_tile(Shared&, const Params& p) {
#endif
  int index = p.tiles;
  if (!draws_tiles(p)) return index;
#if ATTN_COUNTER
  barrier_wait(shared.counter_open, 0);  // of one phase: true ever after
  if (threadIdx.x % 32 == 0) index = gridDim.x + atomicAdd(&p.counter->next, 1);
#else
  if (threadIdx.x % 32 == 0) index = gridDim.x + atomicAdd(p.next_tile, 1);
#endif
  return index;
}
