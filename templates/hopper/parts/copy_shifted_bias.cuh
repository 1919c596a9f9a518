// Copies the bias tile of an input whose rows begin anywhere, so that TMA cannot bring it. Each
// warp copies the 16 rows that it reads, 16 bytes a lane; a row begins within its first 16 where it
// does so in memory. To start and to finish are a step apart, so that a trip to memory passes under
// a block's products and weights.
#pragma once

// What a warp copies for a block of keys.
struct BiasRows {
  const BiasElement* from;  // its first row, at the block's first key: maybe beyond the row's ends
  int64_t pitch;            // from there to the next row's
  const BiasElement* end;   // of the tensor
  int column, columns;      // of its first row: for the block's first key, and all
  int last_row, last_key;   // from the first: beyond them there is no element
};

// Of a row, at most. Indices that are further from 0 are as good as this one, which leaves those of
// the rows and keys behind within 32 bits.
constexpr int kMostColumns = 1 << 30;

__device__ __forceinline__ BiasRows bias_rows(int q_first, int kv_first, const Row& row,
                                              const Params& p) {
  const int first = q_first + threadIdx.x / 32 % 4 * 16;
  const int q_idx = min(first, p.seq_q - 1);
  const int64_t in_front = int64_t{bias_matrix(row, p.inputs)} * p.seq_q + q_idx;
  const int columns = bias_columns(row, p.inputs);
  const int64_t index = bias_first(row, p.inputs) + int64_t{kBiasSlope} * q_idx + kv_first;
  const auto column =
      static_cast<int>(max(min(index, int64_t{kMostColumns}), int64_t{-kMostColumns}));
  return {bias_data(p.inputs) + in_front * columns + column,
          int64_t{columns} + kBiasSlope,
          bias_end(row, p.inputs),
          column,
          min(columns, kMostColumns),
          max(p.seq_q - 1 - first, 0),
          p.seq_kv - 1 - kv_first};
}

// Rows beyond the last repeat it.
__device__ __forceinline__ uintptr_t row_address(const BiasRows& rows, int i) {
  return reinterpret_cast<uintptr_t>(rows.from + min(i, rows.last_row) * rows.pitch);
}

// Where row i of the warp begins in its part of the tile.
__device__ __forceinline__ uint8_t* bias_row(uint8_t* part, const BiasRows& rows, int i) {
  return part + i * kBiasRowBytes + row_address(rows, i) % kCopyChunk;
}

// What is not of the tensor is not read, but in its first chunk: allocations begin with one.
__device__ __forceinline__ void start_biases(uint8_t* part, const BiasRows& rows, const Params& p) {
  constexpr int kChunks = kBiasRowBytes / kCopyChunk;
  const auto begin = reinterpret_cast<uintptr_t>(bias_data(p.inputs));
  const auto end = reinterpret_cast<uintptr_t>(rows.end);
#pragma unroll
  for (int n = 0; n < kChunks / 2 + 1; ++n) {
    const int chunk = 32 * n + threadIdx.x % 32, i = chunk / kChunks;
    const int place = chunk % kChunks * kCopyChunk;
    const uintptr_t from = row_address(rows, i) / kCopyChunk * kCopyChunk + place;
    if (i < 16 && from + kCopyChunk > begin && from < end) {
      copy_chunk_before(end, part + i * kBiasRowBytes + place, from);
    }
  }
}

// Whether no index is outside of its row. They move evenly from row to row: the first one and the
// last tell of all.
__device__ __forceinline__ bool within_rows(const BiasRows& rows) {
  const int last = rows.column + kBiasSlope * min(rows.last_row, 15);
  return min(rows.column, last) >= 0 &&
         max(rows.column, last) + min(kTileKv - 1, rows.last_key) < rows.columns;
}

// An index outside of a row is that of its first or last element: others stand there in memory.
__device__ __forceinline__ void clamp_biases(uint8_t* part, const BiasRows& rows) {
  const int lane = threadIdx.x % 32;
  const auto column_of = [&](int i) { return rows.column + kBiasSlope * min(i, rows.last_row); };
  // Of row lane % 16.
  const auto* const from = reinterpret_cast<const BiasElement*>(row_address(rows, lane % 16));
  const int column = column_of(lane % 16);
  const BiasElement first = __ldg(from - column), last = __ldg(from + (rows.columns - 1 - column));
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const BiasElement below = __shfl_sync(0xffffffffu, first, i);
    const BiasElement above = __shfl_sync(0xffffffffu, last, i);
    auto* const row = reinterpret_cast<BiasElement*>(bias_row(part, rows, i));
    for (int key = lane; key < kTileKv; key += 32) {
      const int index = column_of(i) + key;
      if (index < 0) row[key] = below;
      if (index >= rows.columns) row[key] = above;
    }
  }
}

__device__ __forceinline__ void finish_biases(uint8_t* part, const BiasRows& rows) {
  wait_for_copies();
  __syncwarp();
  if (__all_sync(0xffffffffu, within_rows(rows))) return;
  clamp_biases(part, rows);
  __syncwarp();
}
