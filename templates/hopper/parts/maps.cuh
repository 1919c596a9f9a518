// Two maps of scores: at the end of a tile the outputs of a pair of warpgroups become one.
#pragma once

// Adds what map 1 has put out to what map 0 has, for the 64 rows that the pair shares, and says
// whether this warpgroup has the sum: that of map 0. It goes through the memory of both maps'
// queries, which lie side by side, as fp32: an element of every thread, then the next of every
// thread. `queries` are this warpgroup's.
__device__ __forceinline__ bool add_maps(uint8_t* queries, int warpgroup, Output& output) {
  static_assert(kMaps * kQueryBytes >= 64 * kHeadDimV * 4);
  const int queries_read = 1 + 2 * kWarpgroups + warpgroup / kMaps;
  const int sum_written = queries_read + kWarpgroups / kMaps;
  // Not of `warpgroup`: the compiler would keep it in a register through the main loop.
  const int map = uniform(threadIdx.x / 128 % kMaps);
  float4* const elements =
      reinterpret_cast<float4*>(queries - map * kQueryBytes) + threadIdx.x % 128;
  named_sync(queries_read, 256);
  if (map == 1) {
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      elements[128 * j] =
          float4{output[j][0][0], output[j][0][1], output[j][1][0], output[j][1][1]};
    }
    fence_async_proxy();  // the next queries come by TMA
  }
  named_sync(sum_written, 256);
  if (map == 1) return false;
#pragma unroll
  for (int j = 0; j < kHeadDimV / 8; ++j) {
    const float4 other = elements[128 * j];
    output[j][0][0] += other.x;
    output[j][0][1] += other.y;
    output[j][1][0] += other.z;
    output[j][1][1] += other.w;
  }
  return true;
}
#if ATTN_SPLIT_KEYS

// Waits until both warpgroups of a pair have left what they found of a split, and says whether this
// one tells the storer.
__device__ __forceinline__ bool left_by_pair(int warpgroup) {
  named_sync(1 + 2 * kWarpgroups + warpgroup / kMaps, 256);
  return threadIdx.x / 128 % kMaps == 0;
}
#endif
