// The bias tile of an input whose rows begin anywhere: position terms count a key from the query.
#pragma once

constexpr int kBiasSlope = ATTN_BIAS_SLOPE;  // columns that a row begins behind the one before
// Of a row in shared memory, which begins within a chunk: an odd number of chunks, so that eight
// rows lie in different banks.
constexpr int kBiasRowBytes = kTileKv * kBiasBytes + kCopyChunk;
constexpr int kBiasTileBytes = 64 * kBiasRowBytes;

// The biases of a thread's pairs: of each of its rows from its first column on.
struct Biases {
  const uint8_t* rows[2];

  __device__ __forceinline__ float operator()(int j, int r, int e) const {
    const BiasElement element = reinterpret_cast<const BiasElement*>(rows[r])[8 * j + e];
#if ATTN_BIAS_BYTES == 4
    return element;
#elif ATTN_BIAS_FP16
    return from_fp16(element);
#else
    return __uint_as_float(uint32_t{element} << 16);
#endif
  }
};
