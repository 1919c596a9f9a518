// What the spec's own functions may call, and some parts: the generator takes, of these, those
// that the kernel at hand does.
#pragma once

__device__ __forceinline__ float from_bf16(uint16_t x) {
  return __uint_as_float(static_cast<uint32_t>(x) << 16);
}

__device__ __forceinline__ float from_fp16(uint16_t x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}

// How many of the ascending values are below each limit, or at most it (bit i of kOrEqual): all
// lanes of a warp search together, 32 places a round, for all limits at once.
template <unsigned kOrEqual, int kLimits>
__device__ __forceinline__ void count(const int* values, int length, const int (&limits)[kLimits],
                                      int (&counts)[kLimits]) {
  static_assert(kLimits <= 32, "a bit of kOrEqual each");
  int end[kLimits], step[kLimits], place[kLimits], value[kLimits];
  bool more = length > 0;
#pragma unroll
  for (int i = 0; i < kLimits; ++i) {
    counts[i] = 0;
    end[i] = length;
  }
#pragma unroll 1
  while (more) {
#pragma unroll
    for (int i = 0; i < kLimits; ++i) {
      step[i] = (end[i] - counts[i] + 31) / 32;
      place[i] = counts[i] + static_cast<int>(threadIdx.x % 32) * step[i];
      value[i] = __ldg(&values[max(min(place[i], end[i] - 1), 0)]);
    }
    more = false;
#pragma unroll
    for (int i = 0; i < kLimits; ++i) {
      const bool or_equal = kOrEqual >> i & 1;
      const bool inside = or_equal ? value[i] <= limits[i] : value[i] < limits[i];
      const int asked = __popc(__ballot_sync(0xffffffffu, place[i] < end[i] && inside));
      end[i] = min(end[i], counts[i] + asked * step[i]);
      if (asked > 0) counts[i] += (asked - 1) * step[i] + 1;
      more = more || counts[i] < end[i];
    }
  }
}

// One such number, known to be within begin..end: each lane searches alone.
template <bool kOrEqual>
__device__ __forceinline__ int count_within(const int* values, int begin, int end, int limit) {
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    const int value = __ldg(&values[middle]);
    if (kOrEqual ? value <= limit : value < limit) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Over the four threads that share a row.
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
