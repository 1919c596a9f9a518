#if ATTN_BIAS_SHIFTED
// The bias tile, whose rows begin anywhere, so that TMA cannot bring it. Each warp copies the 16
// rows that it reads: to start and to finish are a step apart, so that a trip to memory passes
// under a block's products and weights.
#else
// The bias tile where TMA cannot bring it: rows that do not begin at multiples of 16 bytes. Each
// warp copies the 16 rows that it reads: to start and to finish are a step apart, so that a trip to
// memory passes under a block's products and weights.
#endif
#pragma once

// What a warp copies for a block of keys.
#if ATTN_BIAS_SHIFTED
struct BiasRows {
  const BiasElement* from;  // its first row, at the block's first key: maybe beyond the row's ends
  int64_t length;           // from there to the next row's
  int column, columns;      // of its first row: for the block's first key, and all
  int first;                // in the tile
  int last_row, last_key;   // from the first: beyond them there is no element
};
#else
struct BiasRows {
  const BiasElement* from;  // its first row, at the block's first key
  int length;               // of a row
  int first;                // in the tile
  int last_row, last_key;   // from the first: beyond them there is no element
};
#endif

#if ATTN_BIAS_SHIFTED
// Of a row, at most. Indices that are further from 0 are as good as this one, which leaves those of
// the rows and keys behind within 32 bits.
constexpr int kMostColumns = 1 << 30;

#endif
__device__ __forceinline__ BiasRows bias_rows(int q_first, int kv_first, const Row& row,
                                              const Params& p) {
  const int first = threadIdx.x / 32 % 4 * 16;
  const int q_idx = min(q_first + first, p.seq_q - 1);
  const int64_t in_front = int64_t{bias_matrix(row, p.inputs)} * p.seq_q + q_idx;
#if ATTN_BIAS_SHIFTED
  const int columns = bias_columns(row, p.inputs);
  const int64_t index = bias_first(row, p.inputs) + int64_t{kBiasSlope} * q_idx + kv_first;
  const auto column =
      static_cast<int>(max(min(index, int64_t{kMostColumns}), int64_t{-kMostColumns}));
  return {bias_data(p.inputs) + in_front * columns + column,
          int64_t{columns} + kBiasSlope,
          column,
          min(columns, kMostColumns),
          first,
          max(p.seq_q - 1 - q_first - first, 0),
          p.seq_kv - 1 - kv_first};
#else
  return {bias_data(p.inputs) + in_front * p.seq_kv + kv_first, p.seq_kv, first,
          max(p.seq_q - 1 - q_first - first, 0), p.seq_kv - 1 - kv_first};
#endif
}
#if ATTN_BIAS_SHIFTED

// From where row i has its element for the block's first key to where it has that for another. An
// index outside of the row is that of its first or last element.
__device__ __forceinline__ int place_in_row(const BiasRows& rows, int i, int key) {
  const int column = rows.column + kBiasSlope * min(i, rows.last_row);
  return max(min(min(key, rows.last_key), rows.columns - 1 - column), -column);
}
#endif

// Of 4 bytes, on its way until wait_for_words.
__device__ __forceinline__ void copy_word(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
__device__ __forceinline__ void wait_for_words() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#if ATTN_BIAS_BYTES == 4
// Rows and columns beyond the last repeat it.
__device__ __forceinline__ void start_biases(uint8_t* tile, const BiasRows& rows) {
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const BiasElement* const from = rows.from + int64_t{min(i, rows.last_row)} * rows.length;
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column < kTileKv) {
#if ATTN_BIAS_SHIFTED
        copy_word(tile + bias_place(rows.first + i, column), from + place_in_row(rows, i, column));
#else
        copy_word(tile + bias_place(rows.first + i, column), from + min(column, rows.last_key));
#endif
      }
    }
  }
}

__device__ __forceinline__ void finish_biases(uint8_t*, const BiasRows&) {
  wait_for_words();
  __syncwarp();
}
#else
// A row is copied by the words that hold it, and then moved to the front of them.
constexpr int kOfWord = 4 / kBiasBytes, kRowWords = kTileKv / kOfWord;

__device__ __forceinline__ uintptr_t row_address(const BiasRows& rows, int i) {
  return reinterpret_cast<uintptr_t>(rows.from + int64_t{min(i, rows.last_row)} * rows.length);
}
__device__ __forceinline__ const uint32_t* row_words(const BiasRows& rows, int i) {
  return reinterpret_cast<const uint32_t*>(row_address(rows, i) & ~uintptr_t{3});
}

// Whether all rows begin with a word.
__device__ __forceinline__ bool begin_words(const BiasRows& rows) {
  return row_address(rows, 0) % 4 == 0 && rows.length % kOfWord == 0;
}

#if ATTN_BIAS_SHIFTED
// Whether no index is outside of its row. They move evenly from row to row: the first one and the
// last tell of all.
__device__ __forceinline__ bool within_rows(const BiasRows& rows) {
  const int last = rows.column + kBiasSlope * min(rows.last_row, 15);
  return min(rows.column, last) >= 0 &&
         max(rows.column, last) + min(kTileKv - 1, rows.last_key) < rows.columns;
}

// Words may hold elements of other rows, which must be the tensor's: those of the first row and the
// last, between which all others lie. The whole warp votes, so that the compiler does not think it
// apart.
__device__ __forceinline__ bool has_words(const BiasRows& rows, const Params& p) {
  const BiasElement* const begin = bias_data(p.inputs);
  const int64_t columns = rows.length - kBiasSlope;
  const BiasElement* const end = begin + bias_matrices(p.batch) * p.seq_q * columns;
  const auto has = [&](int i) {
    const auto* const first = reinterpret_cast<const BiasElement*>(row_words(rows, i));
    return first >= begin && first + (kTileKv + kOfWord) <= end;
  };
#if ATTN_MAPS > 1
  // The warps of both maps write the tile: nothing may move in it.
  const bool fits = begin_words(rows) && within_rows(rows);
#else
  constexpr bool fits = true;
#endif
  return __all_sync(0xffffffffu, has(0) && has(15) && fits);
}
#else
// Words may hold elements of the rows before and behind, which must be the tensor's. The whole warp
// votes, so that the compiler does not think it apart.
__device__ __forceinline__ bool has_words(const BiasRows& rows, const Params& p) {
  constexpr int kColumns = kTileKv + kOfWord;  // that words may reach
  const bool has_first =
      rows.from >= bias_data(p.inputs) + kOfWord || row_address(rows, 0) % 4 == 0;
  const bool has_last = rows.last_key + 1 >= kColumns ||
                        (rows.last_row >= 16 && rows.last_key + rows.length >= kColumns);
#if ATTN_MAPS > 1 && ATTN_BIAS_BYTES == 1
  // The warps of both maps write the tile: nothing may move in it, nor become zeros behind the last
  // key.
  const bool fits = begin_words(rows) && rows.last_key >= kTileKv - 1;
#elif ATTN_MAPS > 1
  // The warps of both maps write the tile: nothing may move in it.
  const bool fits = begin_words(rows);
#else
  constexpr bool fits = true;
#endif
  return __all_sync(0xffffffffu, has_first && has_last && fits);
}
#endif

#if ATTN_BIAS_BYTES == 1
// An element a lane and time, in no hurry. Rows beyond the last repeat it, columns are zeros there.
#else
// An element a lane and time, in no hurry. Rows and columns beyond the last repeat it.
#endif
__device__ __forceinline__ void copy_elements(uint8_t* tile, const BiasRows& rows) {
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const BiasElement* const from = rows.from + int64_t{min(i, rows.last_row)} * rows.length;
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column < kTileKv) {
#if ATTN_BIAS_SHIFTED
        const BiasElement element = __ldg(from + place_in_row(rows, i, column));
#else
        const BiasElement element = __ldg(from + min(column, rows.last_key));
#endif
#if ATTN_BIAS_BYTES == 1
        tile[bias_place(rows.first + i, column)] = column <= rows.last_key ? element : 0;
#else
        *reinterpret_cast<BiasElement*>(tile + bias_place(rows.first + i, column)) = element;
#endif
      }
    }
  }
}

// Returns what finish_biases takes: of row lane % 16 the word behind, which has the end of a row
// that begins within a word.
__device__ __forceinline__ uint32_t start_biases(uint8_t* tile, const BiasRows& rows,
                                                 const Params& p) {
  const int lane = threadIdx.x % 32;
  if (!has_words(rows, p)) {
    copy_elements(tile, rows);
    return 0;
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const uint32_t* const words = row_words(rows, i);
#pragma unroll
    for (int j = 0; j < (kRowWords + 31) / 32; ++j) {
      const int word = 32 * j + lane;
      if (word < kRowWords) {
        copy_word(tile + bias_place(rows.first + i, kOfWord * word), words + word);
      }
    }
  }
  return __ldg(row_words(rows, lane % 16) + kRowWords);
}

#if ATTN_BIAS_BYTES == 1
// Bits of a word's first `count` bytes.
__device__ __forceinline__ uint32_t first_bytes(int count) {
  return count >= 4 ? 0xffffffffu : (1u << 8 * max(count, 0)) - 1;
}

#endif
__device__ __forceinline__ void finish_biases(uint8_t* tile, const BiasRows& rows,
                                              uint32_t words_behind, const Params& p) {
  constexpr int kGroups = (kRowWords + 31) / 32;
  const int lane = threadIdx.x % 32;
  wait_for_words();
  __syncwarp();
  if (!has_words(rows, p)) return;
#if ATTN_BIAS_BYTES == 1
  const bool whole = rows.last_key >= kTileKv - 1;
#else
  constexpr bool whole = true;  // what stands behind the last key is not read
#endif
  if (__all_sync(0xffffffffu, whole && begin_words(rows))) return;
  const auto first = static_cast<uint32_t>(row_address(rows, 0));
  const uint32_t row_bytes = static_cast<uint32_t>(rows.length) * kBiasBytes;
#pragma unroll 2
  for (int i = 0; i < 16; ++i) {
    const uint32_t moved = (first + i * row_bytes) % 4 * 8;  // bits
    uint32_t words[kGroups];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int word = 32 * j + lane;
      words[j] = 0;
      if (word < kRowWords) {
        words[j] =
            *reinterpret_cast<const uint32_t*>(tile + bias_place(rows.first + i, kOfWord * word));
      }
    }
    const uint32_t behind = __shfl_sync(0xffffffffu, words_behind, i);
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int word = 32 * j + lane;
      uint32_t next = __shfl_sync(0xffffffffu, words[j], (lane + 1) % 32);
      if (j + 1 < kGroups) {
        const uint32_t of_group = __shfl_sync(0xffffffffu, words[j + 1], 0);
        if (lane == 31) next = of_group;
      }
      if (word == kRowWords - 1) next = behind;
      if (word < kRowWords) {
        uint32_t own = __funnelshift_r(words[j], next, moved);
#if ATTN_BIAS_BYTES == 1
        own &= first_bytes(rows.last_key + 1 - 4 * word);
#endif
        *reinterpret_cast<uint32_t*>(tile + bias_place(rows.first + i, kOfWord * word)) = own;
      }
    }
  }
  __syncwarp();
}
#if ATTN_BIAS_SHIFTED

// The first element of row lane % 16 and its last one, which stand for all that are beyond.
__device__ __forceinline__ uint32_t load_ends(const BiasRows& rows) {
  const int i = threadIdx.x % 16;
  const BiasElement* const from = rows.from + int64_t{min(i, rows.last_row)} * rows.length;
  const int column = rows.column + kBiasSlope * min(i, rows.last_row);
  const BiasElement first = __ldg(from - column), last = __ldg(from + (rows.columns - 1 - column));
  return first | static_cast<uint32_t>(last) << 16;
}

// Of two elements, the first of which has this index, those within the row; else its ends.
__device__ __forceinline__ uint32_t clamped(uint32_t pair, uint32_t ends, int index, int columns) {
  const uint32_t below = ends & 0xffff, above = ends >> 16;
  const uint32_t first = index < 0 ? below : index >= columns ? above : pair & 0xffff;
  const uint32_t second = index + 1 < 0 ? below : index + 1 >= columns ? above : pair >> 16;
  return first | second << 16;
}

// Words had what stands in memory before a row and behind it.
__device__ __forceinline__ void clamp_rows(uint8_t* tile, const BiasRows& rows) {
  if (__all_sync(0xffffffffu, within_rows(rows))) return;
  const uint32_t all_ends = load_ends(rows);
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const uint32_t ends = __shfl_sync(0xffffffffu, all_ends, i);
    const int column = rows.column + kBiasSlope * min(i, rows.last_row);
#pragma unroll
    for (int j = 0; j < (kRowWords + 31) / 32; ++j) {
      const int word = 32 * j + threadIdx.x % 32;
      if (word < kRowWords) {
        uint32_t& pair =
            *reinterpret_cast<uint32_t*>(tile + bias_place(rows.first + i, kOfWord * word));
        pair = clamped(pair, ends, column + kOfWord * word, rows.columns);
      }
    }
  }
  __syncwarp();
}
#endif
#endif
