// The sums of keys, made beside the states: of the columns of keys at hand a block adds up a share,
// and those that have the same columns for other rows of the states the rest.
#pragma once

#if !ATTN_KEY_WEIGHTS
// The weights that the keys of a chunk have at its end, for all threads of the warpgroup.
__device__ __forceinline__ void leave_weights(StateShared& shared, const Row& row,
                                              const Params& p) {
#pragma unroll
  for (int i = 0; i < kChunkKeys / 128; ++i) {
    const int key = 128 * i + threadIdx.x;
    shared.weight[key] = decay(row, kChunkKeys - key, p.inputs);
  }
  named_sync(1, 128);
}

#endif
// Of a block's columns; blocks beyond so many rows of the states have none.
constexpr int kKeySharers = kPieceRowBlocks >= 4 ? 4 : kPieceRowBlocks >= 2 ? 2 : 1;
constexpr int kKeySumColumns = kPieceColumns / kKeySharers;

// Of so many columns of the keys, from `first` on, by a warpgroup: a lane has two of its warp's,
// over one in kGroups keys.
template <int kColumns>
struct KeySums {
  static constexpr int kPairs = kColumns / 4 / 2;  // of a warp
  static constexpr int kGroups = 32 / kPairs;

  const int column, group;
  float2 sum = {};

  __device__ __forceinline__ explicit KeySums(int first)
      : column(first + 2 * (threadIdx.x / 32 * kPairs + threadIdx.x % 32 % kPairs)),
        group(threadIdx.x % 32 / kPairs) {}

  __device__ __forceinline__ void shrink(float left) {
    sum.x *= left;
    sum.y *= left;
  }

  // A slice's keys.
  __device__ __forceinline__ void add(const uint8_t* keys, const float* weights) {
#pragma unroll
    for (int i = 0; i < kTileKv / kGroups; ++i) {
      const int key = kGroups * i + group;
      const uint8_t* const place = keys + swizzled<64>(kTileKv, key, column / 8) + column % 8 * 2;
      const uint32_t pair = *reinterpret_cast<const uint32_t*>(place);
      sum.x += weights[key] * low_half(pair);
      sum.y += weights[key] * high_half(pair);
    }
  }

  // To their place behind a state, of which `to` is the first column.
  __device__ __forceinline__ void store(float* to) const {
    float2 all = sum;
#pragma unroll
    for (int lanes = kPairs; lanes < 32; lanes *= 2) {
      all.x += __shfl_xor_sync(0xffffffffu, all.x, lanes);
      all.y += __shfl_xor_sync(0xffffffffu, all.y, lanes);
    }
    if (group == 0) *reinterpret_cast<float2*>(to + column) = all;
  }
};
