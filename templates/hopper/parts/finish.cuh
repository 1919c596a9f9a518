// The end of a tile: the rows' results.
#pragma once

#if ATTN_VARLEN
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

// The rows' results: values saved per row, and the output in place of the queries, for the storer.
// `q_row` is the thread's first row, which may lie beyond the last.
#if ATTN_MAPS > 1
// The warpgroup of map 1 leaves its output to that of map 0, which has the sum.
#endif
__device__ __forceinline__ void finish_rows(uint8_t* out, uint64_t& out_full, int warpgroup,
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
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(out_full);
}
