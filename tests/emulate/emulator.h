// A Hopper core on the CPU, for emitted kernels in bf16 or, with EMULATE_FP16, fp16: tests of what
// a kernel computes, and of whether its producer and consumers ever wait for each other for good.
//
// A CUDA thread is a fiber. A fiber that must wait yields; if none can go on and no copy is under
// way, the kernel hangs, and the program says so and ends. Loads into shared memory complete later,
// in a pseudo-random order. Stores out of it read it when they are waited for, as matrix products
// read their operands, registers among them: what is given away too early shows in the result.
// to_host.py replaces a kernel's inline assembly by the functions of instructions.h and products.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core.h"
#include "instructions.h"
#include "products.h"
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

#define threadIdx (emulator::thread_index())
#define blockIdx (emulator::block_index())
#define gridDim (emulator::grid_size())
#define blockDim (emulator::block_size())

#include "device_code.h"  // of the fibers above

namespace emulated {

// Not in instructions.h, which clang-tidy reads: clang 14 has no _Float16 on x86-64.
inline float from_fp16(uint16_t x) { return static_cast<float>(std::bit_cast<_Float16>(x)); }
inline float from_half(uint16_t x) { return from_fp16(x); }

}  // namespace emulated
using namespace emulated;
