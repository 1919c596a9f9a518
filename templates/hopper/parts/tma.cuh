// The tensor memory accelerator: tiles between global and swizzled shared memory.
#pragma once

#if ATTN_ROW_BY_ROW
// What the L2 parts with in turn, as createpolicy.fractional encodes it.
constexpr uint64_t kEvictNormal = 0x1000000000000000;
#else
// What the L2 parts with last, as createpolicy.fractional encodes it: keys and values, which all
// tiles of a head read. Not with queries first, though each is read once: where a head's row ends
// within a line, the line holds another head's as well.
constexpr uint64_t kEvictNormal = 0x1000000000000000, kEvictLast = 0x14f0000000000000;
#endif

// Of the tensors that boxes are copied of.
struct TensorMaps {
#if ATTN_ROW_BY_ROW
  CUtensorMap q, o;
#elif ATTN_SHARE_KV
  CUtensorMap q, k, o;
#else
  CUtensorMap q, k, v, o;
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
  CUtensorMap bias;
#endif
};

// Coordinates of a tensor map are {column, row, head, batch}; what lies outside reads as zero.
__device__ __forceinline__ void tma_load(const CUtensorMap& map, uint64_t& barrier, void* tile,
                                         int column, int row, int head, int batch,
                                         uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared_address(tile)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(column), "r"(row), "r"(head), "r"(batch),
      "l"(policy)
      : "memory");
}

#if !ATTN_VARLEN
// To the L2.
__device__ __forceinline__ void tma_prefetch(const CUtensorMap& map, int column, int row, int head,
                                             int batch) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(&map),
      "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

#endif
#if ATTN_FAR || (ATTN_MASK_BITS && !ATTN_TOKENS)
// A stretch of memory as it is.
__device__ __forceinline__ void bulk_load(uint64_t& barrier, void* to, const void* from,
                                          int bytes) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

#endif
#if !ATTN_PADDED_HEADS
// What lies outside the tensor is not written.
__device__ __forceinline__ void tma_store(const CUtensorMap& map, const void* tile, int column,
                                          int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::
          "l"(&map),
      "r"(shared_address(tile)), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

// Commits this thread's stores, and waits until their tiles may be overwritten.
__device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}
#endif

#if ATTN_COLUMN_INPUTS
// A line, as far as the L2.
__device__ __forceinline__ void prefetch(const void* line) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
}

#endif
__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Ordinary writes to shared memory become visible to TMA and the tensor cores.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
