// Rows of tables, of which each query has its own: a warp copies those of its 16 rows of a tile
// into shared memory, where a pair finds any element of them. The copies are on their way under the
// tile's first product.
#pragma once

constexpr int kTableBytes = ATTN_TABLE_BYTES;  // of a query's rows of all tables

#if ATTN_ODD_TABLES
// How far a row begins behind a chunk, in memory and in its copy.
__device__ __forceinline__ int place_in_chunk(const void* row) {
  return reinterpret_cast<uintptr_t>(row) % kCopyChunk;
}

#endif
// The rows of one table, which ends at `end`, to where the warp's first row keeps it. Lane 4 i has
// the addresses of rows i and i + 8. What stands in a row's first chunk before it may be read:
// allocations begin with one.
template <int kBytes>
__device__ __forceinline__ void copy_table_rows(const void* first, const void* second,
                                                const void* end, uint8_t* kept) {
  constexpr bool kWhole = kBytes % kCopyChunk == 0;
  constexpr int kChunks = kWhole ? kBytes / kCopyChunk : (kBytes + 2 * kCopyChunk - 2) / kCopyChunk;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto own = reinterpret_cast<uintptr_t>(half == 0 ? first : second);
#pragma unroll 4
    for (int i = 0; i < (8 * kChunks + 31) / 32; ++i) {
      const int chunk = 32 * i + threadIdx.x % 32, row = chunk / kChunks;
      const uintptr_t begin = __shfl_sync(0xffffffffu, own, row % 8 * 4);
      const int place = chunk % kChunks * kCopyChunk;
      const uintptr_t from = begin / kCopyChunk * kCopyChunk + place;
      if (row < 8 && from < begin + kBytes) {
        copy_chunk_before(reinterpret_cast<uintptr_t>(end),
                          kept + (8 * half + row) * kTableBytes + place, from);
      }
    }
  }
}
