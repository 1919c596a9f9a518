// The end of a tile: the rows' results, through shared memory to global.
#pragma once

#if ATTN_VARLEN
// The first `rows` rows of a tile of output to global memory, sixteen bytes at a time, from its
// column `column` on.
__device__ __forceinline__ void store_rows(const uint8_t* out, int q_first, int rows, int head,
                                           int column, const Params& p) {
  constexpr int kGroups = kHeadDimV / 8;
#pragma unroll 1
  for (int i = threadIdx.x % 128; i < rows * kGroups; i += 128) {
    const int row = i / kGroups, group = i % kGroups;
    const int first = column + 8 * group;
#if ATTN_VALUE_PARTS > 1
    if (first >= kOutputDim) continue;
#endif
    const int64_t at = (q_first + row) * p.o_stride_seq + head * p.o_stride_head + first;
    *reinterpret_cast<uint4*>(p.o + at * kElementBytes) =
        *reinterpret_cast<const uint4*>(out + swizzled<kChunkV>(64, row, group));
  }
}

// Values of keys from `first` on become zero: those of the next sequence, which may be NaN, come
// with the last block of this one, and a weight of zero would not hide them.
__device__ __forceinline__ void clear_values(uint8_t* value, int first) {
  constexpr int kRowBytes = kChunkV * kElementBytes;
#pragma unroll 1
  for (int chunk = 0; chunk < kChunksV; ++chunk) {
    uint8_t* const rows = value + chunk * chunk_bytes(kTileKv, kChunkV);
#pragma unroll 1
    for (int i = first * kRowBytes + threadIdx.x % 128 * 16; i < kTileKv * kRowBytes; i += 2048) {
      *reinterpret_cast<uint4*>(rows + i) = uint4{0, 0, 0, 0};
    }
  }
}
#endif

// The rows' results: values saved per row, the output through shared memory to TMA. `q_row` is the
// thread's first row, which may lie beyond the last.
#if ATTN_MAPS > 1
// The warpgroup of map 1 leaves its output to that of map 0, which stores the sum.
#endif
__device__ __forceinline__ void finish_rows(uint8_t* out, uint64_t& out_empty,
#if ATTN_MAPS > 1
                                            uint64_t& other_empty,  // of map 1's queries
#endif
                                            const CUtensorMap& map_o, int warpgroup,
                                            const Tile& tile, int q_row, const Row (&rows)[2],
                                            Output& output, const Reductions (&reductions)[2],
                                            const Params& p) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const RowValues values = row_values(complete(reductions[r]), rows[r], p.inputs);
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][r][0] = output_of(output[j][r][0], values, rows[r], p.inputs);
      output[j][r][1] = output_of(output[j][r][1], values, rows[r], p.inputs);
    }
#if ATTN_VARLEN
    bool stored = threadIdx.x % 4 == 0 && q_row + 8 * r < tile.seq_q;
#if ATTN_VALUE_PARTS > 1
    stored = stored && tile.part == 0;
#endif
    if (stored) store_saves(p.saves, values, rows[r], p.inputs);
#elif ATTN_VALUE_PARTS > 1
    const bool stored = threadIdx.x % 4 == 0 && q_row + 8 * r < p.seq_q && tile.part == 0;
    if (stored) store_saves(p.saves, values, rows[r], p.inputs);
#elif ATTN_PACKED_HEADS
    if (threadIdx.x % 4 == 0 && q_row + 8 * r < p.seq_q * kGroup) {
      store_saves(p.saves, values, rows[r], p.inputs);
    }
#else
    if (threadIdx.x % 4 == 0 && q_row + 8 * r < p.seq_q) {
      store_saves(p.saves, values, rows[r], p.inputs);
    }
#endif
  }
#if ATTN_MAPS > 1
  if (!add_maps(out, warpgroup, output)) return;
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all warps have read what map 1 left
#else
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all warps have read their queries
#endif
  store_fragments<kChunkV>(out, output);
  fence_async_proxy();
  named_sync(1 + kWarpgroups + warpgroup, 128);
#if ATTN_VALUE_PARTS > 1
  const int column = tile.part * kHeadDimV;
#endif
#if ATTN_VARLEN
  const int q_first = tile.q_begin + tile.q_first + 64 * warpgroup;
  const int left = tile.seq_q - tile.q_first - 64 * warpgroup;
  if (left < 64) {
    // The next sequence's rows follow in memory: TMA would write them too.
#if ATTN_VALUE_PARTS > 1
    store_rows(out, q_first, left, tile.h, column, p);
#else
    store_rows(out, q_first, left, tile.h, 0, p);
#endif
    named_sync(1 + kWarpgroups + warpgroup, 128);
  }
  if (threadIdx.x % 128 == 0) {
    if (left >= 64) {
#pragma unroll
      for (int chunk = 0; chunk < kChunksV; ++chunk) {
#if ATTN_VALUE_PARTS > 1
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), column + chunk * kChunkV, q_first,
                  tile.h, 0);
#else
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), chunk * kChunkV, q_first, tile.h,
                  0);
#endif
      }
    }
    tma_store_wait();
    barrier_arrive(out_empty);
  }
#else
  if (threadIdx.x % 128 == 0) {
#if ATTN_PACKED_HEADS
    const int q_first = (tile.q_first + 64 * warpgroup) / kGroup;
#elif ATTN_MAPS > 1
    const int q_first = tile.q_first + 64 * (warpgroup / kMaps);
#else
    const int q_first = tile.q_first + 64 * warpgroup;
#endif
    if (q_first < p.seq_q) {
#pragma unroll
      for (int chunk = 0; chunk < kChunksV; ++chunk) {
#if ATTN_VALUE_PARTS > 1
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), column + chunk * kChunkV, q_first,
                  tile.h, tile.b);
#elif ATTN_PACKED_HEADS
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), chunk * kChunkV, tile.h, q_first,
                  tile.b);
#else
        tma_store(map_o, out + chunk * chunk_bytes(64, kChunkV), chunk * kChunkV, q_first, tile.h,
                  tile.b);
#endif
      }
    }
    tma_store_wait();
    barrier_arrive(out_empty);
#if ATTN_MAPS > 1
    barrier_arrive(other_empty);
#endif
  }
#endif
  __syncwarp();  // keeps the warps converged for the next tile's wgmma
}
