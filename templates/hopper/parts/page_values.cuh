#if ATTN_PAGE_ROWS
// The values of a cache in small pages: a warp beside the producer's copies them.
#else
// The values of a cache in small pages: a warp beside the producer's brings them. Asking for so
// many copies takes a warp as long as the tensor cores take for what comes.
#endif
#pragma once

struct PageValues {
  Shared& shared;
#if !ATTN_PAGE_ROWS
  const TensorMaps& maps;
#endif
  const Params& p;

  __device__ void run() const;
};

// Block after block, as the producer calls for them.
__device__ __forceinline__ void PageValues::run() const {
  RingSlot<kStages> slot;
#pragma unroll 1
  for (;; slot.advance()) {
    barrier_wait(shared.value_called[slot.index], slot.parity);
    const int block = shared.value_call[slot.index].block;
    if (block < 0) return;
    const Tile tile = uniform(shared.value_call[slot.index].tile);
#if ATTN_PAGE_ROWS
    barrier_wait(shared.value_empty[slot.index], slot.parity ^ 1);
    copy_values(shared, slot.index, tile, p);
    barrier_arrive(shared.value_taken[slot.index]);
#else
    barrier_arrive(shared.value_taken[slot.index]);
    const PageCopy copy = page_copy(tile, block, p);
    barrier_wait(shared.value_empty[slot.index], slot.parity ^ 1);
    uint64_t& full = shared.value_full[slot.index];
    if (threadIdx.x % 32 == 0) barrier_expect(full, kValueBytes);
#if ATTN_VALUE_PARTS > 1
    load_page<kChunksV, kChunkV>(maps.v, full, shared.value[slot.index], copy, tile.h / kGroup,
                                 tile.part * kHeadDimV);
#else
    load_page<kChunksV, kChunkV>(maps.v, full, shared.value[slot.index], copy, tile.h / kGroup);
#endif
    __syncwarp();
#endif
  }
}
