// Warpgroup matrix products: 64 rows, fp32 accumulators, operands in swizzled tiles.
#pragma once

// An operand's descriptor: start address, leading and stride byte offsets, all in units of 16
// bytes, and the swizzle: 1 for 128 bytes, 2 for 64 (PTX ISA, "Matrix Descriptor Format").
template <int kChunk>
__device__ __forceinline__ uint64_t descriptor(const void* tile, int leading_bytes) {
  constexpr int kStrideBytes = chunk_bytes(8, kChunk);  // from eight rows to the next
  return static_cast<uint64_t>((shared_address(tile) & 0x3ffff) >> 4) |
         static_cast<uint64_t>(leading_bytes >> 4) << 16 |
         static_cast<uint64_t>(kStrideBytes >> 4) << 32 | uint64_t{kChunk == 64 ? 1 : 2} << 62;
}

// The same, for a loop: the compiler would work it out anew before every product, in a chain of
// dependent steps; what comes from another lane it keeps.
__device__ __forceinline__ uint64_t kept(uint64_t descriptor) {
  const uint32_t low = uniform(static_cast<int>(descriptor));
  return (descriptor >> 32 << 32) | low;
}

// Computed by here, before a wait that follows.
__device__ __forceinline__ void pin(uint64_t& descriptor) { asm volatile("" : "+l"(descriptor)); }

// Rows of the operand are rows of the tile: Q, K, weights. A step of 16 columns stays in a chunk,
// so there is no leading offset.
template <int kChunk>
__device__ __forceinline__ uint64_t row_descriptor(const void* tile) {
  return descriptor<kChunk>(tile, 16);
}

// Rows of the operand are columns of the tile: V, where the sum is over keys. The leading offset
// goes from chunk to chunk.
template <int kChunk>
__device__ __forceinline__ uint64_t column_descriptor(const void* tile) {
  return descriptor<kChunk>(tile, chunk_bytes(kTileKv, kChunk));
}

// How far a step of 16 columns lies behind the first, in a tile of `rows` rows: 16 columns are 32
// bytes, and descriptors count in 16 bytes.
template <int kChunk>
__device__ __forceinline__ int step_offset(int rows, int step) {
  constexpr int kSteps = kChunk / 16;
  return step / kSteps * (chunk_bytes(rows, kChunk) / 16) + step % kSteps * 2;
}

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps reads and writes of accumulators on their side of a fence or wait.
template <int kGroups>
__device__ __forceinline__ void pin(float (&d)[kGroups][2][2]) {
#pragma unroll
  for (int j = 0; j < kGroups; ++j) {
    asm volatile(""
                 : "+f"(d[j][0][0]), "+f"(d[j][0][1]), "+f"(d[j][1][0]),
                   "+f"(d[j][1][1])::"memory");
  }
}
