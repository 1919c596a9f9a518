// Where the rows of a tile of biases begin whose keys are counted from the query: such as position
// terms, which have a column for each distance.
#pragma once

constexpr int kBiasSlope = ATTN_BIAS_SLOPE;  // columns that a row begins behind the one before

struct BiasRows {
  const BiasElement* first;  // at the block's first key: maybe beyond the row's ends
  int64_t pitch;             // from there to the next row's
  int column, columns;       // of its first row: for the block's first key, and all
  int last, last_key;        // from the first: beyond them there is no row, no key
  uint64_t begin, end;       // of the tensor

  // That of its row i; beyond the last they repeat it.
  __device__ __forceinline__ uint64_t row(int i) const {
    return reinterpret_cast<uint64_t>(first + min(i, last) * pitch);
  }

  __device__ __forceinline__ bool has_row(int i) const { return i <= last; }

  // Whether there are all 64 rows, and their chunks are the tensor's: the first and the last are.
  __device__ __forceinline__ bool whole() const {
    const uint64_t least = pitch < 0 ? row(63) : row(0), most = pitch < 0 ? row(0) : row(63);
    return last >= 63 && least >= begin && most + kBiasRowBytes <= end;
  }

  // Bytes of a chunk of a row that are the tensor's. A row's first one may begin before: so do
  // allocations.
  __device__ __forceinline__ int count(int, uint64_t chunk) const {
    if (chunk + kCopyChunk <= begin) return 0;
    const auto left = static_cast<int64_t>(end - chunk);
    return static_cast<int>(max(min(left, int64_t{kCopyChunk}), int64_t{0}));
  }
};

// Of a row, at most. Indices that are further from 0 are as good as this one, which leaves those of
// the rows and keys behind within 32 bits.
constexpr int kMostColumns = 1 << 30;

__device__ __forceinline__ BiasRows bias_rows(int first_row, int kv_first, const Row& row,
                                              const Params& p) {
  const int q_idx = min(first_row, p.seq_q - 1);
  const int64_t in_front = int64_t{bias_matrix(row, p.inputs)} * p.seq_q + q_idx;
  const int columns = bias_columns(row, p.inputs);
  const int64_t index = bias_first(row, p.inputs) + int64_t{kBiasSlope} * q_idx + kv_first;
  const auto column =
      static_cast<int>(max(min(index, int64_t{kMostColumns}), int64_t{-kMostColumns}));
  return {bias_data(p.inputs) + in_front * columns + column,
          int64_t{columns} + kBiasSlope,
          column,
          min(columns, kMostColumns),
          max(p.seq_q - 1 - first_row, 0),
          p.seq_kv - 1 - kv_first,
          reinterpret_cast<uint64_t>(bias_data(p.inputs)),
          reinterpret_cast<uint64_t>(bias_end(row, p.inputs))};
}

// Whether no index of the first 16 rows is outside of its row. They move evenly from row to row:
// the first one and the last tell of all.
__device__ __forceinline__ bool within_rows(const BiasRows& rows) {
  const int last = rows.column + kBiasSlope * min(rows.last, 15);
  return min(rows.column, last) >= 0 &&
         max(rows.column, last) + min(kTileKv - 1, rows.last_key) < rows.columns;
}

// An index outside of a row is that of its first or last element: others stand there in memory. Of
// a warp's 16 rows, which are the first.
__device__ __forceinline__ void clamp_biases(uint8_t* part, const BiasRows& rows) {
  const int lane = threadIdx.x % 32;
  const auto column_of = [&](int i) { return rows.column + kBiasSlope * min(i, rows.last); };
  // Of row lane % 16.
  const auto* const from = reinterpret_cast<const BiasElement*>(rows.row(lane % 16));
  const int column = column_of(lane % 16);
  const BiasElement first = __ldg(from - column), last = __ldg(from + (rows.columns - 1 - column));
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const BiasElement below = __shfl_sync(0xffffffffu, first, i);
    const BiasElement above = __shfl_sync(0xffffffffu, last, i);
    auto* const row =
        reinterpret_cast<BiasElement*>(part + i * kBiasRowBytes + rows.row(i) % kCopyChunk);
    for (int key = lane; key < kTileKv; key += 32) {
      const int index = column_of(i) + key;
      if (index < 0) row[key] = below;
      if (index >= rows.columns) row[key] = above;
    }
  }
}
