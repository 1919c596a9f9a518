// The rows of a tile: which they are, and what each begins with.
#pragma once

__device__ __forceinline__ int Consumer::first_row() const {
  return first_row_of(tile, ATTN_ROW_BLOCK) + thread / 32 * 16 + lane / 4;
}

// Where the tile's rows stand. Rows beyond the last one repeat it, so that inputs are read in
// range; they are not stored.
#if ATTN_PADDED_HEADS
// Void rows repeat the last head likewise.
#endif
__device__ __forceinline__ void Consumer::place_rows() {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    Row& row = rows[r];
#if ATTN_VARLEN
    row.seq_q = tile.seq_q;
    row.seq_kv = tile.seq_kv;
    row.q_begin = tile.q_begin;
    row.kv_begin = tile.kv_begin;
#else
    row.seq_q = p.seq_q;
    row.seq_kv = p.seq_kv;
#endif
    row.b = tile.b;
#if ATTN_MAPS > 1
    row.map = map();
#endif
#if ATTN_PACKED_HEADS
    const int packed = first_row() + 8 * r;
#if ATTN_PADDED_HEADS && ATTN_HEAD_PARTS > 1
    row.h = tile.h + min(packed % kGroupRows, heads_from(tile.h) - 1);
#elif ATTN_PADDED_HEADS
    row.h = tile.h + min(packed % kGroupRows, kGroup - 1);
#else
    row.h = tile.h + packed % kGroupRows;
#endif
    row.q_idx = min(packed / kGroupRows, row.seq_q - 1);
#else
    row.h = tile.h;
    row.q_idx = min(first_row() + 8 * r, row.seq_q - 1);
#endif
#if ATTN_PACKED_SAVES && ATTN_MAPS > 1
    row.first_save = (int64_t{row.h} * kMaps + row.map) * p.total_q + tile.q_begin;
#elif ATTN_PACKED_SAVES
    row.first_save = int64_t{row.h} * p.total_q + tile.q_begin;
#endif
    row.h_kv = tile.h / kGroup;
    row.q_pos = row.q_idx + (row.seq_kv - row.seq_q);
  }
}

// Whether row r of the thread is there: the last tile may end beyond it.
__device__ __forceinline__ bool Consumer::has_row(int r) const {
  const int row = first_row() + 8 * r;
#if ATTN_PADDED_HEADS && ATTN_HEAD_PARTS > 1
  return row / kGroupRows < rows[r].seq_q && row % kGroupRows < heads_from(tile.h);
#elif ATTN_PADDED_HEADS
  return row / kGroupRows < rows[r].seq_q && row % kGroupRows < kGroup;
#elif ATTN_PACKED_HEADS
  return row / kGroupRows < rows[r].seq_q;
#else
  return row < rows[r].seq_q;
#endif
}

#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
// The same in the tiles of all blocks, which begin at multiples of 16 keys.
__device__ __forceinline__ void Consumer::place_biases() {
  const BiasRows biases = bias_rows(first_row_of(tile, ATTN_ROW_BLOCK), 0, rows[0], p);
  bias_begins = 0;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if ATTN_BIAS_GROUPED
    const int row = (thread / 32 * 16 + lane / 4 + 8 * r) / kGroupRows;
#else
    const int row = thread / 32 * 16 + lane / 4 + 8 * r;
#endif
    const uint32_t begin = row * kBiasRowBytes + place_in_row(biases.row(row));
    bias_begins |= begin / kBiasBytes << 16 * r;
  }
}

#endif
#if ATTN_ROW_CONSTANTS
__device__ __forceinline__ void Consumer::set_row_constants() {
#pragma unroll
  for (int r = 0; r < 2; ++r) set_constants(rows[r], p.inputs);
}

#endif
#if ATTN_TABLE_BYTES
// Each warp copies for itself, behind what it read of the tile before.
__device__ __forceinline__ void Consumer::start_tables() {
  uint8_t* const kept = shared.tables[warpgroup] + thread / 32 * 16 * kTableBytes;
  __syncwarp();
  const TableRows tables[2] = {table_rows(rows[0], p.inputs), table_rows(rows[1], p.inputs)};
  copy_tables(tables, kept);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    find_tables(rows[r], tables[r], kept + (lane / 4 + 8 * r) * kTableBytes);
  }
}

__device__ __forceinline__ void Consumer::finish_tables() {
  wait_for_copies();
  __syncwarp();
}

#endif
#if ATTN_COLUMN_INPUTS
// Asks for what the tile's end will read, as far as the L2.
__device__ __forceinline__ void Consumer::prefetch_columns() const {
  constexpr int kLine = 64;  // elements
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const ColumnRows inputs = column_rows(rows[r], p.inputs);
#pragma unroll
    for (int n = 0; n < kColumnInputs; ++n) {
      for (int column = kLine * (lane % 4); column < kHeadDimV; column += 4 * kLine) {
#if ATTN_VALUE_PARTS > 1
        if (first_column() + column >= kOutputDim) break;
#endif
        prefetch(inputs.begin[n] + first_column() + column);
      }
    }
  }
}

#endif
__device__ __forceinline__ void Consumer::begin_rows() {
#if ATTN_BIAS_SHIFTED
  tile_row = first_row_of(tile, ATTN_ROW_BLOCK);
#endif
  place_rows();
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
  if (copies_biases(bias_layout)) place_biases();
#endif
#if ATTN_TABLE_BYTES
  start_tables();
#endif
#if ATTN_COLUMN_INPUTS
  prefetch_columns();
#endif
#if ATTN_DISTANCE_STRIP
  // rows[0] may repeat the last query, beyond which there is none.
  const int last_row = first_row() - thread / 32 * 16 - lane / 4 + 63;
  first_distance = rows[0].q_idx - last_row;
#endif
#if ATTN_ROW_CONSTANTS && (!ATTN_INTRA_OVERLAP || ATTN_SKIP || ATTN_FAR)
  if (rows[0].seq_kv > 0) set_row_constants();  // inputs may be empty otherwise
#endif
#if ATTN_SEARCHED_LIMITS
  const KeyRange tile_keys = read_by_lane_0(shared.tile_keys[query_slot.index][ATTN_ROW_BLOCK]);
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if ATTN_SEARCHED_LIMITS
    // The lanes of a row find the same.
    int2& found = shared.row_keys[warpgroup][thread / 32 * 16 + lane / 4 + 8 * r];
    found = {};
    if (rows[r].seq_kv > 0) {
      found = row_keys(rows[r], tile_keys, p.inputs);
    }
    rows[r].keys = &found;
#endif
    reductions[r] = {};
  }
#if !ATTN_FAR
  clear(output);
#endif
}

// Once more at the tile's end: the loop has no registers to keep it in.
__device__ __forceinline__ void Consumer::recall_tile() {
  tile = read_by_lane_0(shared.tile[query_slot.index][ATTN_ROW_BLOCK]);
  place_rows();
}
