// The storer: one warp that brings finished tiles from shared memory to global, and so frees the
// slots of their queries. The consumers are at their next tile meanwhile.
#pragma once

#if ATTN_VARLEN || ATTN_PADDED_HEADS
// The first `rows` of a warpgroup's rows of output, which begin at `first_row`, to global memory,
// sixteen bytes at a time, from its column `column` on.
__device__ __forceinline__ void store_rows(const uint8_t* out, const Tile& tile, int first_row,
                                           int rows, int column, const Params& p) {
  constexpr int kGroups = ATTN_PART_COLUMNS / 8;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < rows * kGroups; i += 32) {
    const int row = i / kGroups, group = i % kGroups;
    const int first = column + 8 * group;
#if ATTN_VALUE_PARTS > 1
    if (first >= kOutputDim) continue;
#endif
#if ATTN_PACKED_HEADS
    const int query = (first_row + row) / kGroupRows, in_group = (first_row + row) % kGroupRows;
#if ATTN_PADDED_HEADS && ATTN_HEAD_PARTS > 1
    if (in_group >= heads_from(tile.h)) continue;
#elif ATTN_PADDED_HEADS
    if (in_group >= kGroup) continue;
#endif
    const int head = tile.h + in_group;
#else
    const int query = first_row + row, head = tile.h;
#endif
#if ATTN_VARLEN
    const int64_t at = (tile.q_begin + query) * p.o_stride_seq + head * p.o_stride_head + first;
#else
    const int64_t at =
        tile.b * p.o_stride_batch + query * p.o_stride_seq + head * p.o_stride_head + first;
#endif
    *reinterpret_cast<uint4*>(p.o + at * kElementBytes) =
        *reinterpret_cast<const uint4*>(out + swizzled<kChunkV>(64, row, group));
  }
}
#endif

// A warpgroup's 64 rows of a tile.
#if ATTN_PADDED_HEADS
__device__ __forceinline__ void store_output(const uint8_t* out, const CUtensorMap&,
                                             const Params& p, const Tile& tile, int warpgroup) {
#if ATTN_SPLIT_KEYS
  if (splits_of(tile, p) > 1) return;  // the split has left its part
#endif
#if ATTN_VARLEN
  const int rows = tile.seq_q * kGroupRows;
#else
  const int rows = p.seq_q * kGroupRows;
#endif
  const int row = first_row_of(tile, warpgroup);
  // The next head's rows follow in memory: TMA would write void ones over them.
#if ATTN_VALUE_PARTS > 1
  store_rows(out, tile, row, min(rows - row, 64), tile.part * kHeadDimV, p);
#else
  store_rows(out, tile, row, min(rows - row, 64), 0, p);
#endif
}
#else
__device__ __forceinline__ void store_output(const uint8_t* out, const CUtensorMap& map_o,
#if ATTN_VARLEN || ATTN_SPLIT_KEYS
                                             const Params& p,
#endif
                                             const Tile& tile, int warpgroup) {
#if ATTN_SPLIT_KEYS
  if (splits_of(tile, p) > 1) return;  // the split has left its part
#endif
#if ATTN_VALUE_PARTS > 1
  const int first_column = tile.part * kHeadDimV;
#endif
  const int row = first_row_of(tile, warpgroup);
#if ATTN_VARLEN
#if ATTN_PACKED_HEADS
  const int left = tile.seq_q * kGroupRows - row;
#else
  const int left = tile.seq_q - row;
#endif
  if (left < 64) {
    // The next sequence's rows follow in memory: TMA would write them too.
#if ATTN_VALUE_PARTS > 1
    store_rows(out, tile, row, left, first_column, p);
#else
    store_rows(out, tile, row, left, 0, p);
#endif
    return;
  }
#endif
  if (threadIdx.x % 32 != 0) return;
#pragma unroll
  for (int chunk = 0; chunk < ATTN_STORED_CHUNKS; ++chunk) {
    const uint8_t* const columns = out + chunk * chunk_bytes(64, kChunkV);
#if ATTN_VALUE_PARTS > 1
    const int column = first_column + chunk * kChunkV;
#else
    const int column = chunk * kChunkV;
#endif
#if ATTN_VARLEN && ATTN_PACKED_HEADS
    tma_store(map_o, columns, column, tile.h, tile.q_begin + row / kGroupRows, 0);
#elif ATTN_VARLEN
    tma_store(map_o, columns, column, tile.q_begin + row, tile.h, 0);
#elif ATTN_PACKED_HEADS
    tma_store(map_o, columns, column, tile.h, row / kGroupRows, tile.b);
#else
    tma_store(map_o, columns, column, row, tile.h, tile.b);
#endif
  }
  tma_store_wait();
}
#endif

#if ATTN_VARLEN || ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS
__device__ __forceinline__ void store(Shared& shared, const CUtensorMap& map_o, const Params& p) {
#else
__device__ __forceinline__ void store(Shared& shared, const CUtensorMap& map_o) {
#endif
  RingSlot<kQueryStages> slot;
#pragma unroll 1
  while (true) {
#pragma unroll 1
#if ATTN_MAPS > 1
    for (int i = 0; i < kWarpgroups; i += kMaps) {  // map 0's, which have the sums
#else
    for (int i = 0; i < ATTN_ROW_BLOCKS; ++i) {
#endif
      barrier_wait(shared.query_full[slot.index][i], slot.parity);
      const Tile tile = read_by_lane_0(shared.tile[slot.index][i]);
#if ATTN_PERSISTENT
      if (tile.b < 0) return;
#endif
      barrier_wait(shared.output_full[slot.index][i], slot.parity);
#if ATTN_VARLEN || ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS
      store_output(shared.query[slot.index][i], map_o, p, tile, i);
#else
      store_output(shared.query[slot.index][i], map_o, tile, i);
#endif
      __syncwarp();
#if ATTN_MAPS > 1
      if (threadIdx.x % 32 == 0) {
        barrier_arrive(shared.query_empty[slot.index][i]);
        barrier_arrive(shared.query_empty[slot.index][i + 1]);
      }
#else
      if (threadIdx.x % 32 == 0) barrier_arrive(shared.query_empty[slot.index][i]);
#endif
    }
#if !ATTN_PERSISTENT
    return;
#endif
    slot.advance();
  }
}
