// The end of a tile: the rows' results.
#pragma once

// By one lane of the four that share a row; rows beyond the last have no place.
__device__ __forceinline__ void Consumer::save_rows(const RowValues (&values)[2]) {
  if (threadIdx.x % 4 != 0) return;
#if ATTN_VALUE_PARTS > 1
  if (tile.part != 0) return;
#elif ATTN_SIDES > 1
  if (side() != 0) return;
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (has_row(r)) store_saves(p.saves, values[r], rows[r], p.inputs);
  }
}

#if ATTN_OUTPUT_COLUMNS
// The output of row r, which depends on the column.
__device__ __forceinline__ void Consumer::finish_columns(int r, const RowValues& values) {
  constexpr int kBlocks = kHeadDimV / 8;
#if ATTN_VALUE_PARTS > 1
  // The last part may have fewer columns: inputs have none beyond.
  const int blocks = min(kBlocks, (kOutputDim - first_column()) / 8);
#endif
#if ATTN_COLUMN_INPUTS
  const ColumnRows inputs = column_rows(rows[r], p.inputs);
#endif
#pragma unroll
  for (int first = 0; first < kBlocks; first += 4) {
#if ATTN_COLUMN_INPUTS && ATTN_VALUE_PARTS > 1
    const ColumnPairs pairs(inputs, first_column() + 8 * first, blocks - first);
#elif ATTN_COLUMN_INPUTS
    const ColumnPairs pairs(inputs, first_column() + 8 * first, kBlocks - first);
#endif
#pragma unroll
    for (int j = first; j < min(first + 4, kBlocks); ++j) {
#if ATTN_VALUE_PARTS > 1
      if (j >= blocks) break;
#endif
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Column column;
        column.d = first_column() + 8 * j + 2 * (lane % 4) + half;
#if ATTN_COLUMN_INPUTS
        pairs.put(column, j - first, half);
#endif
        output[j][r][half] = output_of(output[j][r][half], column, values, rows[r], p.inputs);
      }
    }
  }
}

#endif
// The rows' results: the output in place of the queries, for the storer, and what is saved.
#if ATTN_MAPS > 1
// The warpgroup of map 1 leaves its output to that of map 0, which has the sum.
#endif
__device__ __forceinline__ void Consumer::finish_rows() {
#if ATTN_SIDES > 1
  uint8_t* const sides = shared.query[query_slot.index][ATTN_ROW_BLOCK];
  uint8_t* const out = sides + side() * kChunksV * chunk_bytes(64, kChunkV);
#else
  uint8_t* const out = shared.query[query_slot.index][ATTN_ROW_BLOCK];
#endif
  RowValues values[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    values[r] = row_values(complete(reductions[r]), rows[r], p.inputs);
#if ATTN_OUTPUT_COLUMNS
    finish_columns(r, values[r]);
#else
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][r][0] = output_of(output[j][r][0], values[r], rows[r], p.inputs);
      output[j][r][1] = output_of(output[j][r][1], values[r], rows[r], p.inputs);
    }
#endif
  }
#if ATTN_MAPS > 1
  save_rows(values);
  if (!add_maps(out, warpgroup, output)) return;
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all warps have read what map 1 left
#elif ATTN_SIDES > 1
  both_sides_sync();  // all warps have read their queries
#else
  named_sync(1 + kWarpgroups + warpgroup, 128);  // all warps have read their queries
#endif
  store_fragments<kChunkV>(out, output);
  fence_async_proxy();
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(shared.output_full[query_slot.index][ATTN_ROW_BLOCK]);
#if ATTN_MAPS == 1
  save_rows(values);  // after the fence, which would wait for them
#endif
}
#if ATTN_SPLIT_KEYS

// Where a row of the thread leaves its part; rows beyond the last have no place.
__device__ __forceinline__ Part* Consumer::part_of(int r) const {
  if (!has_row(r)) return nullptr;
#if ATTN_VARLEN && ATTN_VALUE_PARTS > 1
  return parts_of(rows[r], tile, p) + tile.part * value_part_stride(p) + tile.split;
#elif ATTN_VALUE_PARTS > 1
  return parts_of(rows[r], p) + tile.part * value_part_stride(p) + tile.split;
#elif ATTN_VARLEN
  return parts_of(rows[r], tile, p) + tile.split;
#else
  return parts_of(rows[r], p) + tile.split;
#endif
}

// What the rows have of their split: their output comes from the kernel that joins splits.
__device__ __forceinline__ void Consumer::leave_split() {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const Reductions all = complete(reductions[r]);
    Part* const part = part_of(r);
    if (!part) continue;
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
#if ATTN_SIDES > 1
      *reinterpret_cast<float2*>(part->output + side() * kHeadDimV + 8 * j + 2 * (lane % 4)) =
          float2{output[j][r][0], output[j][r][1]};
#else
      *reinterpret_cast<float2*>(part->output + 8 * j + 2 * (lane % 4)) =
          float2{output[j][r][0], output[j][r][1]};
#endif
    }
#if ATTN_SIDES > 1
    if (lane % 4 == 0 && side() == 0) part->reductions = all;
#else
    if (lane % 4 == 0) part->reductions = all;
#endif
  }
#if ATTN_SIDES > 1
  both_sides_sync();  // one tells of both
#else
  __syncwarp();
#endif
#if ATTN_EARLY_JOINS
#if ATTN_SIDES > 1
  if (p.joins_early && lane % 4 == 0 && side() == 0) {
#else
  if (p.joins_early && lane % 4 == 0) {
#endif
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (Part* const part = part_of(r)) leave_number(part->call, p.call);
    }
  }
#endif
#if ATTN_MAPS > 1
  if (!left_by_pair(warpgroup)) return;
#endif
  if (lane == 0) barrier_arrive(shared.output_full[query_slot.index][ATTN_ROW_BLOCK]);
}
#endif
