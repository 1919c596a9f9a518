// What the spec's own functions may call: the generator takes, of these, those that they do.
#pragma once

#include "exchange.h"
#include "stand_ins.h"

__device__ __forceinline__ float from_bf16(uint16_t x) {
  return __uint_as_float(static_cast<uint32_t>(x) << 16);
}

__device__ __forceinline__ float from_fp16(uint16_t x) {
  return static_cast<float>(__builtin_bit_cast(_Float16, x));
}

// How many of the ascending values are below the limit, or at most it: all lanes of a wave
// search together, 64 places a round.
template <bool kOrEqual>
__device__ __forceinline__ int count(const int* values, int length, int limit) {
  int begin = 0, end = length;
  while (begin < end) {
    const int step = (end - begin + 63) / 64;
    const int place = begin + static_cast<int>(threadIdx.x % 64) * step;
    const int value = read_only(&values[min(place, end - 1)]);
    const bool inside = place < end && (kOrEqual ? value <= limit : value < limit);
    const int asked = __popcll(__ballot(inside));
    if (asked == 0) break;
    end = min(end, begin + asked * step);
    begin += (asked - 1) * step + 1;
  }
  return begin;
}

// One such number, known to be within begin..end: each lane searches alone.
template <bool kOrEqual>
__device__ __forceinline__ int count_within(const int* values, int begin, int end, int limit) {
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    const int value = read_only(&values[middle]);
    if (kOrEqual ? value <= limit : value < limit) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Over the two lanes that share a row.
__device__ __forceinline__ float pair_sum(float x) { return x + other_half(x); }

__device__ __forceinline__ float pair_max(float x) { return fmaxf(x, other_half(x)); }
