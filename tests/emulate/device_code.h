// What CUDA gives to device code, for emulator.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

template <typename T>
T __shfl_sync(unsigned, T x, int lane) {
  return emulator::exchange(x)[static_cast<size_t>(lane & 31)];
}
template <typename T>
T __shfl_xor_sync(unsigned, T x, int mask) {
  return emulator::exchange(
      x)[static_cast<size_t>((emulator::thread_index().x % 32) ^ static_cast<unsigned>(mask))];
}
template <typename T>
T __shfl_up_sync(unsigned, T x, int by) {
  const int lane = static_cast<int>(emulator::thread_index().x % 32);
  const auto all = emulator::exchange(x);
  return all[static_cast<size_t>(lane >= by ? lane - by : lane)];
}
inline unsigned __ballot_sync(unsigned, int x) {
  const auto all = emulator::exchange(x);
  unsigned bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<unsigned>(all[static_cast<size_t>(i)] != 0) << i;
  return bits;
}
inline int __all_sync(unsigned mask, int x) { return __ballot_sync(mask, x) == 0xffffffffu; }
inline int __any_sync(unsigned mask, int x) { return __ballot_sync(mask, x) != 0; }
inline void __syncwarp(unsigned = 0xffffffffu) { emulator::exchange(0); }
inline void __syncthreads() {
  emulator::named_sync(0, static_cast<int>(emulator::core->fibers.size()));
}
inline int __syncthreads_or(int x) {
  static int all;
  all = 0;
  __syncthreads();
  all |= x != 0;
  __syncthreads();
  const int any = all;
  __syncthreads();  // before the next call clears it
  return any;
}
inline int __syncthreads_and(int x) { return __syncthreads_or(x == 0) == 0; }
template <typename T, typename U>
T atomicAdd(T* at, U by) {
  emulator::require_waited();
  const T old = *at;
  *at = static_cast<T>(old + static_cast<T>(by));
  return old;
}
// A call's number in the workspace. Blocks come one after the other: what they wait for is there.
inline void leave_number(uint64_t& place, uint64_t call) {
  // The number of a replayed graph's call: others would not wait.
  if (place == call) {
    std::fprintf(stderr, "the call before left its number in the workspace\n");
    std::exit(9);
  }
  place = call;
}
inline void wait_for_number(const uint64_t& place, uint64_t call) {
  if (place == call) return;
  std::fprintf(stderr, "what a block waits for is not there\n");
  std::exit(9);
}
template <typename T>
T atomicMin(T* at, T x) {
  return std::exchange(*at, std::min(*at, x));
}
template <typename T>
T atomicMax(T* at, T x) {
  return std::exchange(*at, std::max(*at, x));
}
template <typename T>
T atomicOr(T* at, T x) {
  return std::exchange(*at, *at | x);
}
template <typename T>
T __ldg(const T* at) {
  return *at;
}
template <typename T>
T __ldcg(const T* at) {
  return *at;
}
inline int __clz(unsigned x) { return x == 0 ? 32 : __builtin_clz(x); }
inline unsigned __vimax3_u32(unsigned x, unsigned y, unsigned z) { return std::max({x, y, z}); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (by & 31));
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
// A NaN becomes 0, as on the GPU.
inline float __saturatef(float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; }
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline int __float2int_rd(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<int>(std::clamp(std::floor(static_cast<double>(x)), -0x1p31, 0x1p31 - 1));
}
inline float __cosf(float x) { return std::cos(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __logf(float x) { return std::log(x); }
inline float __expf(float x) { return std::exp(x); }
// Not inlined, so that the host's compiler does not merge them either.
[[gnu::noinline]] inline float __fadd_rn(float a, float b) { return a + b; }
[[gnu::noinline]] inline float __fsub_rn(float a, float b) { return a - b; }
[[gnu::noinline]] inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }
inline unsigned max(unsigned a, unsigned b) { return std::max(a, b); }
inline int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
inline int64_t max(int64_t a, int64_t b) { return std::max(a, b); }
inline long long min(long long a, long long b) { return std::min(a, b); }
inline long long max(long long a, long long b) { return std::max(a, b); }
using std::isfinite;
using std::isinf;
using std::isnan;
