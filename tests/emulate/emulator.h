// A Hopper core on the CPU, for emitted kernels in bf16 or, with EMULATE_FP16, fp16: tests of what
// a kernel computes, and of whether its producer and consumers ever wait for each other for good.
//
// A CUDA thread is a fiber. A fiber that must wait yields; if none can go on and no copy is under
// way, the kernel hangs, and the program says so and ends. Loads into shared memory complete later,
// in a pseudo-random order. Stores out of it read it when they are waited for, as matrix products
// read their operands, registers among them: what is given away too early shows in the result.
// to_host.py replaces a kernel's inline assembly by the functions of instructions.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core.h"
#include "runtime.h"

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct int2 {
  int x, y;
};
struct __align__(16) int4 {
  int x, y, z, w;
};
struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
inline int2 make_int2(int x, int y) { return {x, y}; }
struct __align__(8) float2 {
  float x, y;
};
struct __align__(16) float4 {
  float x, y, z, w;
};
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

namespace emulator {

// The storage type, rounded to the nearest, ties to even.
#ifdef EMULATE_FP16
inline uint16_t to_storage(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
inline float from_storage(uint16_t x) { return static_cast<float>(std::bit_cast<_Float16>(x)); }
#else
inline uint16_t to_storage(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return 0x7FFF;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float from_storage(uint16_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}
#endif

// The address that the hardware's swizzle makes of one in shared memory: span 128 or 64 bytes.
inline uint32_t swizzle(uint32_t address, int span) {
  return span == 128 ? address ^ (address >> 7 & 7) << 4 : address ^ (address >> 7 & 3) << 4;
}
inline float shared_element(uint32_t address) {
  uint16_t x;
  if (address + 2 > kSharedBytes) std::abort();
  std::memcpy(&x, core->shared + address, 2);
  return from_storage(x);
}

// An operand of a matrix product in shared memory, by its descriptor.
struct Operand {
  explicit Operand(uint64_t d)
      : start((d & 0x3FFF) << 4),
        leading((d >> 16 & 0x3FFF) << 4),
        stride((d >> 32 & 0x3FFF) << 4),
        span(d >> 62 == 1 ? 128 : 64) {}
  // The sixteen elements of the sum in row `row`: rows of the operand are rows of the tile.
  void by_row(int row, float (&x)[16]) const {
    const int first = start + row / 8 * stride + row % 8 * span;
    for (int k = 0; k < 16; k += 8) {  // a swizzle moves chunks of sixteen bytes
      const uint32_t chunk = swizzle(static_cast<uint32_t>(first + 2 * k), span);
      for (int i = 0; i < 8; ++i) x[k + i] = shared_element(chunk + 2 * static_cast<uint32_t>(i));
    }
  }
  // Rows of the operand are columns of the tile.
  void by_column(int column, float (&x)[16]) const {
    const int wide = span / 2, first = start + column / wide * leading + column % wide * 2;
    for (int k = 0; k < 16; ++k) x[k] = element(first + k / 8 * stride + k % 8 * span);
  }
  float element(int address) const {
    return shared_element(swizzle(static_cast<uint32_t>(address), span));
  }
  int start, leading, stride, span;
};

}  // namespace emulator

#define threadIdx (emulator::thread_index())
#define blockIdx (emulator::block_index())
#define gridDim (emulator::grid_size())
#define blockDim (emulator::block_size())

#include "device_code.h"  // of the fibers above
#include "instructions.h"
using namespace emulated;
