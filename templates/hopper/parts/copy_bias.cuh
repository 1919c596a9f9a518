// The bias tile where TMA cannot bring it: rows that do not begin at multiples of 16 bytes. Each
// warp copies the rows that it reads: to start and to finish are a step apart, so that a trip to
// memory passes under a block's products and weights.
#pragma once

constexpr int kWarpRows = kBiasRows / 4;  // of biases: a warp's part of the tile

// What a warp copies for a block of keys.
struct BiasRows {
  const BiasElement* from;  // its first row, at the block's first key
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  int64_t of_head;  // from a head's rows to the next one's
#endif
  int length;              // of a row
  int first;               // in the tile
  int last_row, last_key;  // from the first: beyond them there is no element

  // Its i-th.
  __device__ __forceinline__ const BiasElement* row(int i) const {
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
    // Void rows repeat the last head.
    const int query = i / kGroupRows, head = min(i % kGroupRows, kGroup - 1);
    return from + int64_t{min(query, last_row)} * length + head * of_head;
#else
    return from + int64_t{min(i, last_row)} * length;
#endif
  }
};

// `first_row`: of the warpgroup.
__device__ __forceinline__ BiasRows bias_rows(int first_row, int kv_first, const Row& row,
                                              const Params& p) {
#if ATTN_PACKED_HEADS
  const int query = (first_row + threadIdx.x / 32 % 4 * 16) / kGroupRows;
#else
  const int query = first_row + threadIdx.x / 32 % 4 * 16;
#endif
  const int q_idx = min(query, p.seq_q - 1);
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  Row first_head = row;
  first_head.h = row.h_kv * kGroup;
  const int64_t in_front = int64_t{bias_matrix(first_head, p.inputs)} * p.seq_q + q_idx;
#else
  const int64_t in_front = int64_t{bias_matrix(row, p.inputs)} * p.seq_q + q_idx;
#endif
  BiasRows rows;
  rows.from = bias_data(p.inputs) + in_front * p.seq_kv + kv_first;
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  rows.of_head = int64_t{p.seq_q} * p.seq_kv;
#endif
  rows.length = p.seq_kv;
  rows.first = threadIdx.x / 32 % 4 * kWarpRows;
  rows.last_row = max(p.seq_q - 1 - query, 0);
  rows.last_key = p.seq_kv - 1 - kv_first;
  return rows;
}

#if ATTN_BIAS_BYTES == 4
// Rows and columns beyond the last repeat it.
__device__ __forceinline__ void start_biases(uint8_t* tile, const BiasRows& rows) {
#pragma unroll 4
  for (int i = 0; i < kWarpRows; ++i) {
    const BiasElement* const from = rows.row(i);
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column < kTileKv) {
        copy_word(tile + bias_place(rows.first + i, column), from + min(column, rows.last_key));
      }
    }
  }
}

__device__ __forceinline__ void finish_biases(uint8_t*, const BiasRows&) {
  wait_for_copies();
  __syncwarp();
}
#else
// A row is copied by the words that hold it, and then moved to the front of them.
constexpr int kOfWord = 4 / kBiasBytes, kRowWords = kTileKv / kOfWord;

__device__ __forceinline__ uintptr_t row_address(const BiasRows& rows, int i) {
  return reinterpret_cast<uintptr_t>(rows.row(i));
}
__device__ __forceinline__ const uint32_t* row_words(const BiasRows& rows, int i) {
  return reinterpret_cast<const uint32_t*>(row_address(rows, i) & ~uintptr_t{3});
}

// Whether all rows begin with a word.
__device__ __forceinline__ bool begin_words(const BiasRows& rows) {
  return row_address(rows, 0) % 4 == 0 && rows.length % kOfWord == 0;
}

// Words may hold elements of the rows before and behind, which must be the tensor's. The whole warp
// votes, so that the compiler does not think it apart.
__device__ __forceinline__ bool has_words(const BiasRows& rows, const Params& p) {
  constexpr int kColumns = kTileKv + kOfWord;  // that words may reach
  const bool has_first =
      rows.from >= bias_data(p.inputs) + kOfWord || row_address(rows, 0) % 4 == 0;
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  const bool has_last = rows.last_key + 1 >= kColumns;
#else
  const bool has_last = rows.last_key + 1 >= kColumns ||
                        (rows.last_row >= kWarpRows && rows.last_key + rows.length >= kColumns);
#endif
#if ATTN_MAPS > 1 && ATTN_BIAS_BYTES == 1
  // The warps of both maps write the tile: nothing may move in it, nor become zeros behind the last
  // key.
  const bool fits = begin_words(rows) && rows.last_key >= kTileKv - 1;
  return __all_sync(0xffffffffu, has_first && has_last && fits);
#elif ATTN_MAPS > 1
  // The warps of both maps write the tile: nothing may move in it.
  return __all_sync(0xffffffffu, has_first && has_last && begin_words(rows));
#else
  return __all_sync(0xffffffffu, has_first && has_last);
#endif
}

#if ATTN_BIAS_BYTES == 1
// An element a lane and time, in no hurry. Rows beyond the last repeat it, columns are zeros there.
#else
// An element a lane and time, in no hurry. Rows and columns beyond the last repeat it.
#endif
__device__ __forceinline__ void copy_elements(uint8_t* tile, const BiasRows& rows) {
#pragma unroll 4
  for (int i = 0; i < kWarpRows; ++i) {
    const BiasElement* const from = rows.row(i);
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column < kTileKv) {
        const BiasElement element = __ldg(from + min(column, rows.last_key));
#if ATTN_BIAS_BYTES == 1
        tile[bias_place(rows.first + i, column)] = column <= rows.last_key ? element : 0;
#else
        *reinterpret_cast<BiasElement*>(tile + bias_place(rows.first + i, column)) = element;
#endif
      }
    }
  }
}

// Returns what finish_biases takes: of row lane % kWarpRows the word behind, which has the end of a
// row that begins within a word.
__device__ __forceinline__ uint32_t start_biases(uint8_t* tile, const BiasRows& rows,
                                                 const Params& p) {
  const int lane = threadIdx.x % 32;
  if (!has_words(rows, p)) {
    copy_elements(tile, rows);
    return 0;
  }
#pragma unroll
  for (int i = 0; i < kWarpRows; ++i) {
    const uint32_t* const words = row_words(rows, i);
#pragma unroll
    for (int j = 0; j < (kRowWords + 31) / 32; ++j) {
      const int word = 32 * j + lane;
      if (word < kRowWords) {
        copy_word(tile + bias_place(rows.first + i, kOfWord * word), words + word);
      }
    }
  }
  return __ldg(row_words(rows, lane % kWarpRows) + kRowWords);
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
  wait_for_copies();
  __syncwarp();
  if (!has_words(rows, p)) return;
#if ATTN_BIAS_BYTES == 1
  const bool whole = rows.last_key >= kTileKv - 1;
  if (__all_sync(0xffffffffu, whole && begin_words(rows))) return;
#else
  // What stands behind the last key is not read.
  if (__all_sync(0xffffffffu, begin_words(rows))) return;
#endif
#if !ATTN_PACKED_HEADS || ATTN_BIAS_GROUPED
  const auto first = static_cast<uint32_t>(row_address(rows, 0));
  const uint32_t row_bytes = static_cast<uint32_t>(rows.length) * kBiasBytes;
#endif
#pragma unroll 2
  for (int i = 0; i < kWarpRows; ++i) {
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
    const auto moved = static_cast<uint32_t>(row_address(rows, i) % 4 * 8);  // bits
#else
    const uint32_t moved = (first + i * row_bytes) % 4 * 8;  // bits
#endif
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
#endif
