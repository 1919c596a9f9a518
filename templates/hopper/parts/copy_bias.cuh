// The bias tile where TMA cannot bring it: rows that do not begin at multiples of 16 bytes. Each
// warp copies the 16 rows that it reads: to start and to finish are a step apart, so that a trip to
// memory passes under a block's products and weights.
#pragma once

// What a warp copies for a block of keys.
struct BiasRows {
  const BiasElement* from;  // its first row, at the block's first key
  int length;               // of a row
  int first;                // in the tile
  int last_row, last_key;   // from the first: beyond them there is no element
};

__device__ __forceinline__ BiasRows bias_rows(int q_first, int kv_first, const Row& row,
                                              const Params& p) {
  const int first = threadIdx.x / 32 % 4 * 16;
  const int q_idx = min(q_first + first, p.seq_q - 1);
  const int64_t in_front = int64_t{bias_matrix(row, p.inputs)} * p.seq_q + q_idx;
  return {bias_data(p.inputs) + in_front * p.seq_kv + kv_first, p.seq_kv, first,
          max(p.seq_q - 1 - q_first - first, 0), p.seq_kv - 1 - kv_first};
}

// Where the elements of a group of columns lie in the tile.
__device__ __forceinline__ uint8_t* bias_at(uint8_t* tile, int row, int column) {
  constexpr int kOfGroup = 16 / kBiasBytes;
  return tile + swizzled<kChunkBias>(64, row, column / kOfGroup) + column % kOfGroup * kBiasBytes;
}

#if ATTN_BIAS_BYTES > 1
// Of 4 bytes, on its way until wait_for_words.
__device__ __forceinline__ void copy_word(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
__device__ __forceinline__ void wait_for_words() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif
#if ATTN_BIAS_BYTES != 4
#if ATTN_BIAS_BYTES == 1
// An element a lane and time. Rows beyond the last repeat it, columns are zeros there.
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
        const BiasElement element = __ldg(from + min(column, rows.last_key));
#if ATTN_BIAS_BYTES == 1
        *bias_at(tile, rows.first + i, column) = column <= rows.last_key ? element : 0;
#else
        *reinterpret_cast<BiasElement*>(bias_at(tile, rows.first + i, column)) = element;
#endif
      }
    }
  }
}

#endif
#if ATTN_BIAS_BYTES == 1
__device__ __forceinline__ void start_biases(uint8_t* tile, const BiasRows& rows) {
  copy_elements(tile, rows);
}

__device__ __forceinline__ void finish_biases(uint8_t*, const BiasRows&) { __syncwarp(); }
#elif ATTN_BIAS_BYTES == 4
// Rows and columns beyond the last repeat it.
__device__ __forceinline__ void start_biases(uint8_t* tile, const BiasRows& rows) {
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const BiasElement* const from = rows.from + int64_t{min(i, rows.last_row)} * rows.length;
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column < kTileKv) {
        copy_word(bias_at(tile, rows.first + i, column), from + min(column, rows.last_key));
      }
    }
  }
}

__device__ __forceinline__ void finish_biases(uint8_t*, const BiasRows&) {
  wait_for_words();
  __syncwarp();
}
#else
__device__ __forceinline__ bool between_words(const BiasElement* element) {
  return reinterpret_cast<uintptr_t>(element) % 4 != 0;
}

// Words may hold an element of the rows before and behind, which must be the tensor's. Of an odd
// length every second row begins between two words, of an even one none may. The whole warp votes,
// so that the compiler does not think it apart.
__device__ __forceinline__ bool has_words(const BiasRows& rows, const Params& p) {
  const bool has_first = rows.from > bias_data(p.inputs) || !between_words(rows.from);
  const bool has_last = rows.last_key + 1 >= kTileKv ||
                        (rows.last_row >= 16 && rows.last_key + rows.length >= kTileKv);
#if ATTN_MAPS > 1
  // The warps of both maps write the tile: nothing may move in it.
  const bool fits = rows.length % 2 == 0 && !between_words(rows.from);
#else
  const bool fits = rows.length % 2 != 0 || !between_words(rows.from);
#endif
  return __all_sync(0xffffffffu, has_first && has_last && fits);
}

// Two elements a lane and time, the first of them that of an even address. Rows beyond the last
// repeat it, or what stands a column beside.
__device__ __forceinline__ void start_words(uint8_t* tile, const BiasRows& rows) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const auto address =
        reinterpret_cast<uintptr_t>(rows.from + int64_t{min(i, rows.last_row)} * rows.length);
    const auto* const words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
#pragma unroll
    for (int j = 0; j < (kTileKv + 63) / 64; ++j) {
      const int word = 32 * j + threadIdx.x % 32;
      if (2 * word < kTileKv) copy_word(bias_at(tile, rows.first + i, 2 * word), words + word);
    }
  }
}

// Returns what finish_biases takes: of row lane % 16 the tile's last element, which is in no word
// of a row that begins between two.
__device__ __forceinline__ uint32_t start_biases(uint8_t* tile, const BiasRows& rows,
                                                 const Params& p) {
  if (!has_words(rows, p)) {
    copy_elements(tile, rows);
    return 0;
  }
  start_words(tile, rows);
  const int row = min(static_cast<int>(threadIdx.x % 16), rows.last_row);
  return __ldg(rows.from + int64_t{row} * rows.length + kTileKv - 1);
}

// Of two rows of an odd length one begins between two words: its own are put together from these.
__device__ __forceinline__ void finish_biases(uint8_t* tile, const BiasRows& rows,
                                              uint32_t last_elements, const Params& p) {
  constexpr int kGroups = (kTileKv + 63) / 64;
  const int lane = threadIdx.x % 32;
  wait_for_words();
  __syncwarp();
  if (!has_words(rows, p) || __all_sync(0xffffffffu, rows.length % 2 == 0)) return;
  const int odd = between_words(rows.from) ? 0 : 1;
#pragma unroll 4
  for (int i = 0; i < 16; i += 2) {
    const int row = rows.first + i + odd;
    uint32_t words[kGroups];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int column = min(64 * j + 2 * lane, kTileKv - 2);
      words[j] = *reinterpret_cast<const uint32_t*>(bias_at(tile, row, column));
    }
    const uint32_t last = __shfl_sync(0xffffffffu, last_elements, i + odd);
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int column = 64 * j + 2 * lane;
      uint32_t next = __shfl_sync(0xffffffffu, words[j], (lane + 1) % 32);
      if (j + 1 < kGroups) {
        const uint32_t of_group = __shfl_sync(0xffffffffu, words[j + 1], 0);
        if (lane == 31) next = of_group;
      }
      if (column == kTileKv - 2) next = last;
      if (column < kTileKv) {
        *reinterpret_cast<uint32_t*>(bias_at(tile, row, column)) = words[j] >> 16 | next << 16;
      }
    }
  }
  __syncwarp();
}
#endif
