// Keys and values row by row, wherever the rows lie: a warp copies a block of them into a tile as
// TMA would fill it. What has no row is zeros there.
#pragma once

#if ATTN_PAGE_SIZE
// Where a key's row begins in its page; nowhere: -1.
__device__ __forceinline__ int place_of(const Rows& rows, int page, int key) {
  return page < 0 ? -1 : page * rows.stride_page + key % kPageSize * rows.stride_seq;
}

#endif
// A warp's way through a tile: lanes side by side take a chunk's columns, and several rows at once,
// round after round. The places of a lane's next rounds are read at once, and so stand together: of
// four rows at once those of rows 0, 4, 8, 12, then 1, 5, 9, 13, and so on.
template <int kChunk>
struct CopyRounds {
  static constexpr int kGroups = kChunk / 8, kRows = 32 / kGroups, kCount = kTileKv / kRows;
  static constexpr int kTogether = kCount % 4 == 0 ? 4 : 2;
  static_assert(kTileKv % (kTogether * kRows) == 0);

  struct __align__(4 * kTogether) Places {
    int of[kTogether];
  };

  // Bits change places: of rows that share none, the index of the sum is the sum of the indices.
  __device__ static constexpr int index(int row) {
    const int round = row / kRows;
    return (round / kTogether * kRows + row % kRows) * kTogether + round % kTogether;
  }
  // Of the lane, from this round on.
  __device__ static Places read(const int (&places)[kTileKv], int round) {
    const int lane = threadIdx.x % 32;
    return reinterpret_cast<const Places&>(places[round * kRows + lane / kGroups * kTogether]);
  }
};

// Of a block, to a tile, its chunks from kBegin to kEnd, of which `columns` exist. `places` says
// where rows begin behind `from`. They are read ahead of the copies before theirs, which the
// compiler moves no read across.
template <int kBegin, int kEnd, int kChunk>
__device__ __forceinline__ void copy_rows(const uint8_t* from, const int (&places)[kTileKv],
                                          uint8_t* tile, int columns) {
  using Rounds = CopyRounds<kChunk>;
  constexpr int kGroups = Rounds::kGroups, kRows = Rounds::kRows, kTogether = Rounds::kTogether;
  const int lane = threadIdx.x % 32, row = lane / kGroups, group = lane % kGroups;
  // The swizzle of a row is that of the eighth one after it.
  uint8_t* to[8 / kRows];
#pragma unroll
  for (int i = 0; i < 8 / kRows; ++i) to[i] = tile + swizzled<kChunk>(8, row + i * kRows, group);
  from += group * kPlaceBytes;
  typename Rounds::Places next = Rounds::read(places, 0);
#pragma unroll
  for (int i = 0; i < Rounds::kCount; i += kTogether) {
    const typename Rounds::Places place = next;
    if (i + kTogether < Rounds::kCount) next = Rounds::read(places, i + kTogether);
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const int first = (i + j) * kRows;  // of the lanes' rows
      // One address for all chunks: of several, each copy would wait until the one before it has
      // read its own.
      uint64_t begin = reinterpret_cast<uint64_t>(from) + int64_t{place.of[j]} * kPlaceBytes;
      pin(begin);
#pragma unroll
      for (int chunk = kBegin; chunk < kEnd; ++chunk) {
        const int column = chunk * kGroups + group;
        const bool padded = (chunk + 1) * kChunk > columns && column * 8 >= columns;
        copy_chunk_at(padded ? -1 : place.of[j],
                      to[first % 8 / kRows] + chunk * chunk_bytes(kTileKv, kChunk) +
                          chunk_bytes(first / 8 * 8, kChunk),
                      reinterpret_cast<const void*>(begin + chunk * kGroups * kPlaceBytes));
      }
    }
  }
}
