// Rows of tables, of which each query has its own: a warp copies those of its 16 rows of a tile
// into shared memory, where a pair finds any element of them. The copies are on their way under the
// tile's first product.
#pragma once

constexpr int kTableBytes = ATTN_TABLE_BYTES;  // of a query's rows of all tables
constexpr int kTableChunk = 16;                // bytes of a copy

// The first `bytes` of a chunk, until wait_for_chunks; the rest becomes zeros.
__device__ __forceinline__ void copy_chunk(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void wait_for_chunks() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// How far a row begins behind a chunk, in memory and in its copy.
template <int kBytes>
__device__ __forceinline__ int place_in_chunk(const void* row) {
  return kBytes % kTableChunk == 0 ? 0 : reinterpret_cast<uintptr_t>(row) % kTableChunk;
}

// The rows of one table, to where the warp's first row keeps it. Lane 4 i has the addresses of rows
// i and i + 8. What stands in a row's first chunk before it may be read: allocations begin with
// one.
template <int kBytes>
__device__ __forceinline__ void copy_table_rows(const void* first, const void* second,
                                                uint8_t* kept) {
  constexpr bool kWhole = kBytes % kTableChunk == 0;
  constexpr int kChunks =
      kWhole ? kBytes / kTableChunk : (kBytes + 2 * kTableChunk - 2) / kTableChunk;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto own = reinterpret_cast<uintptr_t>(half == 0 ? first : second);
#pragma unroll 4
    for (int i = 0; i < (8 * kChunks + 31) / 32; ++i) {
      const int chunk = 32 * i + threadIdx.x % 32, row = chunk / kChunks;
      const uintptr_t begin = __shfl_sync(0xffffffffu, own, row % 8 * 4);
      const int place = chunk % kChunks * kTableChunk;
      const uintptr_t from = begin / kTableChunk * kTableChunk + place;
      const int left = static_cast<int>(begin - from) + kBytes;
      if (row < 8 && left > 0) {
        copy_chunk(kept + (8 * half + row) * kTableBytes + place,
                   reinterpret_cast<const void*>(from), min(left, kTableChunk));
      }
    }
  }
}
