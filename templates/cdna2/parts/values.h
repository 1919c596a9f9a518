// Tiles of values: global memory, registers, LDS transposed, fragments.
//
// The second product needs, of each column, the keys 8 t + 4 (l / 32) .. + 3 for two steps t at
// once. So LDS holds a row of keys for each column, in groups of four keys (8 bytes), of every
// sixteen keys in the order 0, 2, 1, 3: one 16-byte chunk is one lane's operand of two products.
#pragma once

constexpr int kChunksKv = kTileKv / 8;  // of a column
constexpr int kValueBytes = 32 * kOutputBlocks * kChunksKv * 16;

// Chunks exchange places within the 128 bytes that the banks deliver at once, so that neither the
// reads (a chunk of eight columns, or of two times four) nor the writes (two chunks of four
// columns, one of eight) meet a bank twice.
__device__ __forceinline__ int value_place(int column, int chunk) {
#if ATTN_TILE_KV == 32
  const int line = column / 2, slot = column % 2 * 4 + chunk;
  return line * 128 + (slot ^ line % 4 ^ line / 4 % 4 * 2) * 16;
#else
  const int eights = column / 8 % 4;
  return column * (kChunksKv * 16) + (chunk ^ column % 8 ^ (eights & 2) ^ (eights & 1) * 5) * 16;
#endif
}

// From the place of the first of a thread's columns (a multiple of four, or of eight) to that of
// the c-th.
__device__ __forceinline__ int value_place_at(int place, int c) {
#if ATTN_TILE_KV == 32
  return (place ^ (c % 2 * 4 ^ c / 2) * 16) + c / 2 * 128;
#else
  return (place ^ c * 16) + c * (kChunksKv * 16);
#endif
}
// From the place of a column's chunk 0 or 1 to that of the chunk 2 `step` further on.
__device__ __forceinline__ int value_place_step(int place, int step) {
  return (place ^ step % 4 * 32) + step / 4 * 128;
}

// How the block's threads share a tile: 4 keys x `columns` each; side by side they read 64 bytes of
// a key.
constexpr int value_lanes(int columns) { return 32 / columns; }
constexpr int value_passes(int columns) {
  const int lanes = value_lanes(columns);
  const int threads = (kHeadDimV / columns + lanes - 1) / lanes * lanes * (kTileKv / 4);
  return (threads + kThreads - 1) / kThreads;
}
struct ValueShare {
  static constexpr int kColumns = 4 * value_passes(4) < 8 * value_passes(8) ? 4 : 8;
  static constexpr int kLanes = value_lanes(kColumns);
  static constexpr int kPasses = value_passes(kColumns);
  static constexpr bool kWhole = kPasses * kThreads == kHeadDimV / kColumns * (kTileKv / 4);
};

class ValueCopy {
 public:
  static constexpr int kWords = ValueShare::kColumns / 2;  // of a key
  typedef uint32_t Words __attribute__((ext_vector_type(kWords)));

#if ATTN_PAGE_ROWS
  __device__ __forceinline__ ValueCopy() {
#pragma unroll
    for (int i = 0; i < ValueShare::kPasses; ++i) {
      const int p = position(i);
      group_[i] = (p & ~3) | (p & 1) << 1 | (p & 2) >> 1;
      place_[i] = value_place(column(i), p / 2) + p % 2 * 8;
    }
  }
  // Pass i, the e-th of four keys: which of the tile, and which bytes of it, if it has them.
  __device__ __forceinline__ int row(int i, int e) const { return 4 * group_[i] + e; }
  __device__ __forceinline__ static int byte(int i) { return column(i) * kElementBytes; }
  __device__ __forceinline__ static bool has_columns(int i) {
    return ValueShare::kWhole || column(i) < kHeadDimV;
  }
#else
  __device__ __forceinline__ ValueCopy(int64_t stride) {
    stride_ = static_cast<int>(stride) * kElementBytes;
#pragma unroll
    for (int i = 0; i < ValueShare::kPasses; ++i) {
      const int p = position(i);
      const int group = (p & ~3) | (p & 1) << 1 | (p & 2) >> 1;
      source_[i] = 4 * group * stride_ + column(i) * kElementBytes;
      place_[i] = value_place(column(i), p / 2) + p % 2 * 8;
    }
  }
  // Pass i: key e of four.
  __device__ __forceinline__ Words load(const Resource& tile, int i, int e) const {
    const int source = source_[i] + e * stride_;
    return buffer_load<Words>(tile,
                              ValueShare::kWhole || column(i) < kHeadDimV ? source : kOutside);
  }
#endif
  // Pass i: two of the columns, transposed.
  __device__ __forceinline__ void store(uint8_t* values, int i, int word,
                                        const Words (&keys)[4]) const {
    const auto pair = [&](int e, uint32_t which) __attribute__((always_inline)) {
      return __builtin_amdgcn_perm(keys[e + 1][word], keys[e][word], which);
    };
    if (!ValueShare::kWhole && column(i) >= kHeadDimV) return;
    const auto column_at = [&](int c) __attribute__((always_inline)) {
      return reinterpret_cast<Words2*>(values + value_place_at(place_[i], c));
    };
    *column_at(2 * word) = Words2{pair(0, kLowHalves), pair(2, kLowHalves)};
    *column_at(2 * word + 1) = Words2{pair(0, kHighHalves), pair(2, kHighHalves)};
  }
  __device__ __forceinline__ void pin_addresses() {
#pragma unroll
    for (int i = 0; i < ValueShare::kPasses; ++i) {
#if ATTN_PAGE_ROWS
      pin(group_[i]);
#else
      pin(source_[i]);
#endif
      pin(place_[i]);
    }
  }

 private:
  // The place of the thread's four keys among all groups of four, as LDS has them.
  __device__ __forceinline__ static int position(int i) {
    return (threadIdx.x + i * kThreads) / ValueShare::kLanes % (kTileKv / 4);
  }
  __device__ __forceinline__ static int column(int i) {
    const int thread = threadIdx.x + i * kThreads;
    const int high = thread / (ValueShare::kLanes * (kTileKv / 4));
    return (high * ValueShare::kLanes + thread % ValueShare::kLanes) * ValueShare::kColumns;
  }

#if ATTN_PAGE_ROWS
  int group_[ValueShare::kPasses], place_[ValueShare::kPasses];
#else
  int stride_, source_[ValueShare::kPasses], place_[ValueShare::kPasses];
#endif
};
