// Keys and values row by row, wherever the rows lie: a warp copies a block of them into a tile as
// TMA would fill it. What has no row is zeros there.
#pragma once

#if ATTN_PAGE_SIZE
// Where a key's row begins in its page; nowhere: -1.
__device__ __forceinline__ int place_of(const Rows& rows, int page, int key) {
  const bool has_row = page >= 0 && page < rows.pages;
  return has_row ? page * rows.stride_page + key % kPageSize * rows.stride_seq : -1;
}

#endif
// Of a block, to a tile, its chunks from kBegin to kEnd, of which `columns` exist: by the lanes
// side by side as many columns as a chunk has. `places` says where rows begin behind `from`.
// Several are read before their copies are asked for, which the compiler moves no read across.
template <int kBegin, int kEnd, int kChunk>
__device__ __forceinline__ void copy_rows(const uint8_t* from, const int (&places)[kTileKv],
                                          uint8_t* tile, int columns) {
  constexpr int kGroups = kChunk / 8, kRows = 32 / kGroups, kRounds = kTileKv / kRows;
  constexpr int kTogether = kRounds % 4 == 0 ? 4 : 2;
  static_assert(kTileKv % (kTogether * kRows) == 0);
  const int lane = threadIdx.x % 32, row = lane / kGroups, group = lane % kGroups;
  // The swizzle of a row is that of the eighth one after it.
  uint8_t* to[8 / kRows];
#pragma unroll
  for (int i = 0; i < 8 / kRows; ++i) to[i] = tile + swizzled<kChunk>(8, row + i * kRows, group);
  from += group * kPlaceBytes;
#pragma unroll
  for (int i = 0; i < kRounds; i += kTogether) {
    int place[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) place[j] = places[row + (i + j) * kRows];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const int first = (i + j) * kRows;  // of the lanes' rows
      // One address for all chunks: of several, each copy would wait until the one before it has
      // read its own.
      uint64_t begin = reinterpret_cast<uint64_t>(from) + int64_t{place[j]} * kPlaceBytes;
      pin(begin);
#pragma unroll
      for (int chunk = kBegin; chunk < kEnd; ++chunk) {
        const int column = chunk * kGroups + group;
        const bool padded = (chunk + 1) * kChunk > columns && column * 8 >= columns;
        copy_chunk_at(padded ? -1 : place[j],
                      to[first % 8 / kRows] + chunk * chunk_bytes(kTileKv, kChunk) +
                          chunk_bytes(first / 8 * 8, kChunk),
                      reinterpret_cast<const void*>(begin + chunk * kGroups * kPlaceBytes));
      }
    }
  }
}
