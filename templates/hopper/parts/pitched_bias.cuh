// Biases in rows as they lie in memory, where these begin anywhere: what TMA cannot bring is copied
// so, 16 bytes at a time (copy_bias.cuh).
#pragma once

#if ATTN_BIAS_GROUPED
// A query's heads share a row of a tile: it has so many.
constexpr int kBiasRows = 64 / kGroupRows;
#else
constexpr int kBiasRows = 64;
#endif
// Of a row in shared memory, which begins within its first chunk: of most tiles an odd number of
// chunks, so that eight rows lie in different banks.
constexpr int kBiasRowBytes = kTileKv * kBiasBytes + kCopyChunk;

// The biases of a thread's pairs: of each of its rows from its first column on. `kWholePairs`:
// those of two columns side by side lie as one element of twice their size would.
template <bool kWholePairs>
struct PitchedBiases {
  const uint8_t* rows[2];

  static __device__ __forceinline__ PitchedBiases load(const uint8_t* first,
                                                       const uint8_t* second) {
    return {{first, second}};
  }
#if ATTN_BIAS_BYTES == 1
  __device__ __forceinline__ int operator()(int j, int r, int e) const {
    const uint8_t* const pair = rows[r] + 8 * j;
    if (!kWholePairs) return pair[e];
    return *reinterpret_cast<const uint16_t*>(pair) >> 8 * e & 0xff;
  }
#elif ATTN_BIAS_BYTES == 4
  __device__ __forceinline__ float operator()(int j, int r, int e) const {
    const auto* const pair = reinterpret_cast<const float*>(rows[r]) + 8 * j;
    if (!kWholePairs) return pair[e];
    const float2 both = *reinterpret_cast<const float2*>(pair);
    return e == 0 ? both.x : both.y;
  }
#else
  __device__ __forceinline__ float operator()(int j, int r, int e) const {
    const auto* const pair = reinterpret_cast<const uint16_t*>(rows[r]) + 8 * j;
#if ATTN_BIAS_FP16
    if (!kWholePairs) return from_fp16(pair[e]);
    return from_fp16(static_cast<uint16_t>(*reinterpret_cast<const uint32_t*>(pair) >> 16 * e));
#else
    if (!kWholePairs) return __uint_as_float(uint32_t{pair[e]} << 16);
    const uint32_t both = *reinterpret_cast<const uint32_t*>(pair);
    return __uint_as_float(e == 0 ? both << 16 : both & 0xffff0000u);
#endif
  }
#endif
};

// Where the columns of a thread's pairs begin in a row that begins there in memory.
__device__ __forceinline__ int place_in_row(uint64_t row) {
  return static_cast<int>(row % kCopyChunk) + threadIdx.x % 4 * 2 * kBiasBytes;
}
