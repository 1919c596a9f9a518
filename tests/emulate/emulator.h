// A Hopper core on the CPU, for emitted kernels in bf16 or, with EMULATE_FP16, fp16: tests of what
// a kernel computes, and of whether its producer and consumers ever wait for each other for good.
//
// A CUDA thread is a fiber. A fiber that must wait yields; if none can go on and no copy is under
// way, the kernel hangs, and the program says so and ends. Loads into shared memory complete later,
// in a pseudo-random order. Stores out of it read it when they are waited for, as matrix products
// read their operands, registers among them: what is given away too early shows in the result.
// to_host.py replaces a kernel's inline assembly by the functions of instructions.h.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

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

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kSharedBytes = 232448;
constexpr int kWarp = 32;

struct Index {
  unsigned x = 0;
};

struct alignas(1024) SharedMemory {
  uint8_t bytes[kSharedBytes];
};

struct Fiber {
  ucontext_t entry{};
  jmp_buf place{};  // where it goes on, once begun
  bool begun = false;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  int index = 0;
  bool done = false;
  bool waited = false;  // for the kernels before
  // What this thread waits for, which the scheduler asks without going to it.
  const void* awaited = nullptr;
  bool (*ready)(const void* awaited) = nullptr;
  // Matrix products of this thread: the group being filled, then groups in flight.
  std::vector<std::function<void()>> open;
  std::deque<std::vector<std::function<void()>>> groups;
  std::vector<std::function<void()>> stores;  // of this thread that still read shared memory
  std::vector<std::function<void()>> words;   // on their way to shared memory
};

// Values of a warp's lanes, exchanged when all have come.
struct Exchange {
  uint64_t in[kWarp] = {}, out[kWarp] = {};
  int arrived = 0;
  uint64_t round = 0;
};

struct NamedBarrier {
  int arrived = 0;
  uint64_t round = 0;
};

struct Mbarrier {
  int expected = 0, pending = 0;
  int64_t bytes = 0;
  uint32_t phase = 0;
  void settle() {
    if (pending > 0 || bytes != 0) return;
    phase ^= 1;
    pending = expected;
  }
};

// One block of the grid.
struct Core {
  std::span<const std::unique_ptr<Fiber>> fibers;
  std::vector<Exchange> warps;
  std::map<int, NamedBarrier> named;
  std::map<const void*, Mbarrier> mbarriers;
  std::vector<std::function<void()>> copies;  // under way
  std::mt19937 random{1};
  jmp_buf scheduler{};
  Fiber* current = nullptr;
  std::function<void()> body;
  int waiting = 0;  // yields since something happened
  unsigned block = 0, grid = 0;
  uint8_t* shared = nullptr;
};
inline Core* core = nullptr;

// How a kernel follows the one before it: each of its threads waits for that one's end. But if that
// one had waited itself before it called this one, only threads need to that read what it left.
struct Following {
  int64_t waited = 0;                         // threads
  bool called = false, called_early = false;  // the next kernel, by a thread that had not waited
};
inline Following following;

inline void require_waited() {
  if (core->current->waited) return;
  std::fprintf(stderr, "a thread reads what the kernel before may still write\n");
  std::exit(8);
}

// From thread to thread by jumps: swapcontext saves the signals' mask, two system calls a switch.
inline void yield() {
  if (_setjmp(core->current->place) == 0) _longjmp(core->scheduler, 1);
}
inline void go_on(Fiber& fiber) {
  if (_setjmp(core->scheduler) != 0) return;
  if (std::exchange(fiber.begun, true)) _longjmp(fiber.place, 1);
  setcontext(&fiber.entry);
}

template <typename Ready>
void wait_until(const Ready& ready) {
  if (!ready()) {
    ++core->waiting;
    core->current->awaited = &ready;
    core->current->ready = [](const void* awaited) {
      return (*static_cast<const Ready*>(awaited))();
    };
    yield();
  }
  core->waiting = 0;
}

inline void entry() {
  for (;;) {  // the thread of one block after another
    core->body();
    core->current->done = true;
    core->waiting = 0;
    yield();
  }
}

inline void complete_one_copy() {
  const size_t i = core->random() % core->copies.size();
  const std::function<void()> copy = std::move(core->copies[i]);
  core->copies.erase(core->copies.begin() + static_cast<std::ptrdiff_t>(i));
  copy();
  core->waiting = 0;
}

// Lets a thread go on, unless what it waits for is still to come.
inline void run(Core& one, Fiber& fiber) {
  one.current = &fiber;
  if (fiber.awaited != nullptr && !fiber.ready(fiber.awaited)) {
    ++one.waiting;
    return;
  }
  fiber.awaited = nullptr;
  go_on(fiber);
}

// Each warp that does not rest has a turn, from any of them on; whether a thread is left. Warps
// fall behind each other: now and then one rests for some rounds.
inline bool run_round(Core& one, std::vector<unsigned>& rests) {
  const size_t warps = rests.size(), first = one.random() % warps;
  bool alive = false;
  for (size_t i = 0; i < warps; ++i) {
    const size_t warp = (first + i) % warps;
    unsigned& rest = rests[warp];
    if (rest == 0 && one.random() % 32 == 0) rest = one.random() % 16;
    for (size_t lane = 0; lane < kWarp; ++lane) {
      Fiber& fiber = *one.fibers[warp * kWarp + lane];
      if (fiber.done) continue;
      alive = true;
      if (rest > 0) continue;
      run(one, fiber);
    }
    if (rest > 0) --rest;
  }
  return alive;
}

// So many threads that wait for a block to begin. They outlive it: to make one takes system calls
// and pages of memory, and most blocks of small calls have nothing to do.
inline std::span<const std::unique_ptr<Fiber>> rested_fibers(int threads) {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  for (int i = static_cast<int>(fibers.size()); i < threads; ++i) {
    auto fiber = std::make_unique<Fiber>();
    fiber->index = i;
    getcontext(&fiber->entry);
    fiber->entry.uc_stack.ss_sp = fiber->stack.get();
    fiber->entry.uc_stack.ss_size = kStackBytes;
    fiber->entry.uc_link = nullptr;
    makecontext(&fiber->entry, entry, 0);
    fibers.push_back(std::move(fiber));
  }
  const auto rested = std::span(fibers).first(static_cast<size_t>(threads));
  for (const auto& fiber : rested) fiber->done = fiber->waited = false;
  return rested;
}

inline void run_block(unsigned block, unsigned grid, int threads,
                      const std::function<void()>& body) {
  static const auto memory = std::make_unique<SharedMemory>();
  Core one;
  core = &one;
  one.block = block;
  one.grid = grid;
  one.body = body;
  one.warps.resize(static_cast<size_t>(threads / kWarp));
  one.random.seed(block * 7919 + 17);
  one.shared = memory->bytes;
  std::memset(one.shared, 0xFF, kSharedBytes);  // NaN
  one.fibers = rested_fibers(threads);
  std::vector<unsigned> rests(one.warps.size());
  while (run_round(one, rests)) {
    if (!one.copies.empty() && (one.random() % 2 == 0 || one.waiting > 8 * threads)) {
      complete_one_copy();
    } else if (one.copies.empty() && one.waiting > 400 * threads) {  // longer than any rests
      std::fprintf(stderr, "the kernel hangs: block %u of %u\n", block, grid);
      std::exit(3);
    }
  }
  for (auto& fiber : one.fibers) {
    if (!fiber->open.empty() || !fiber->groups.empty()) {
      std::fprintf(stderr, "thread %d left matrix products behind\n", fiber->index);
      std::exit(4);
    }
    if (!fiber->stores.empty() || !fiber->words.empty()) {
      std::fprintf(stderr, "thread %d does not wait for its copies\n", fiber->index);
      std::exit(6);
    }
  }
  for (const auto& [id, barrier] : one.named) {
    if (barrier.arrived != 0) {
      std::fprintf(stderr, "named barrier %d is left half full\n", id);
      std::exit(5);
    }
  }
  while (!one.copies.empty()) {
    std::fprintf(stderr, "a copy is under way at the end\n");
    std::exit(6);
  }
  core = nullptr;
}

inline void launch(int blocks, int threads, size_t bytes, const std::function<void()>& body) {
  if (bytes > kSharedBytes || threads % kWarp != 0 || threads > 1024) std::abort();
  for (int block = 0; block < blocks; ++block) {
    run_block(static_cast<unsigned>(block), static_cast<unsigned>(blocks), threads, body);
  }
}

inline Index thread_index() { return {static_cast<unsigned>(core->current->index)}; }
inline Index block_index() { return {core->block}; }
inline Index grid_size() { return {core->grid}; }
inline Index block_size() { return {static_cast<unsigned>(core->fibers.size())}; }

// What each lane of a warp gave: to be read before the thread's next exchange.
template <typename T>
struct Lanes {
  T operator[](size_t lane) const {
    T value;
    std::memcpy(&value, &values[lane], sizeof(T));
    return value;
  }
  const uint64_t (&values)[kWarp];
};
template <typename T>
Lanes<T> exchange(T value) {
  static_assert(sizeof(T) <= 8);
  Exchange& warp = core->warps[static_cast<size_t>(core->current->index / kWarp)];
  std::memcpy(&warp.in[core->current->index % kWarp], &value, sizeof(T));
  const uint64_t round = warp.round;
  if (++warp.arrived == kWarp) {
    warp.arrived = 0;
    ++warp.round;
    std::copy(warp.in, warp.in + kWarp, warp.out);
  }
  wait_until([&] { return warp.round != round; });
  return {warp.out};
}

inline void named_arrive(int id, int threads) {
  NamedBarrier& barrier = core->named[id];
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.round;
  }
}
inline void named_sync(int id, int threads) {
  NamedBarrier& barrier = core->named[id];
  const uint64_t round = barrier.round;
  named_arrive(id, threads);
  wait_until([&] { return barrier.round != round; });
}

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

struct Map {
  uint8_t* data = nullptr;
  int64_t dims[4] = {}, strides[4] = {};  // bytes
  int box[4] = {};
  int span = 128;
};

}  // namespace emulator

#define threadIdx (emulator::thread_index())
#define blockIdx (emulator::block_index())
#define gridDim (emulator::grid_size())
#define blockDim (emulator::block_size())

#include "device_code.h"  // of the fibers above

// ---- the runtime ----
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
enum { cudaEnableDefault, cudaDevAttrComputeCapabilityMajor, cudaDevAttrMultiProcessorCount };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
using cudaStream_t = void*;
enum CUresult { CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_CONTEXT };
using CUtensorMap = emulator::Map;
using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16 };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_64B };
enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
};

// Whether the thread has a context, which the driver asks for and the runtime makes when needed.
inline thread_local bool emulator_has_context = false;
inline CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, uint32_t rank,
                                       void* data, const cuuint64_t* dims,
                                       const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t*, int, CUtensorMapSwizzle swizzle, int,
                                       int) {
  if (rank != 4) std::abort();
  if (!emulator_has_context) return CUDA_ERROR_INVALID_CONTEXT;
  const int span = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : 64;
  bool valid = data != nullptr && reinterpret_cast<uintptr_t>(data) % 16 == 0;
  for (int i = 0; i < 4; ++i) {
    valid = valid && dims[i] >= 1 && dims[i] <= uint64_t{1} << 32 && box[i] >= 1 && box[i] <= 256;
  }
  for (int i = 0; i < 3; ++i) {
    valid = valid && strides[i] % 16 == 0 && strides[i] > 0 && strides[i] < uint64_t{1} << 40;
  }
  if (!valid || 2 * box[0] != static_cast<uint32_t>(span)) {
    std::fprintf(stderr, "TMA takes no such tensor map\n");
    return CUDA_ERROR_INVALID_VALUE;
  }
  map->data = static_cast<uint8_t*>(data);
  map->strides[0] = 2;
  for (int i = 0; i < 4; ++i) map->dims[i] = static_cast<int64_t>(dims[i]);
  for (int i = 0; i < 3; ++i) map->strides[i + 1] = static_cast<int64_t>(strides[i]);
  for (int i = 0; i < 4; ++i) map->box[i] = static_cast<int>(box[i]);
  map->span = span;
  return CUDA_SUCCESS;
}
extern "C" [[gnu::used]] inline bool emulator_has_driver = true;
inline cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, int, int,
                                                    cudaDriverEntryPointQueryResult* found) {
  if (!emulator_has_driver) return cudaErrorInvalidValue;
  *function = reinterpret_cast<void*>(&cuTensorMapEncodeTiled);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
extern "C" [[gnu::used]] inline int emulator_capability = 9;
inline cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kCores = 3;
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? emulator_capability : kCores;
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, int, size_t) {
  emulator_has_context = true;
  return cudaSuccess;
}
enum { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute {
  int id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct dim3 {
  explicit dim3(int count) : x(count) {}
  int x;
};
struct cudaLaunchConfig_t {
  dim3 blocks, threads;
  size_t shared_bytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attributes;
  unsigned attribute_count;
};
inline void wait_for_stream() {
  bool& waited = emulator::core->current->waited;
  if (!waited) ++emulator::following.waited;
  waited = true;
}
inline void call_next_kernel() {
  emulator::following.called = true;
  if (!emulator::core->current->waited) emulator::following.called_early = true;
}
// Memory that a copy may not read; of a null pointer none.
namespace emulator {
inline std::vector<std::pair<const uint8_t*, size_t>> forbidden;
inline void require_of_tensor(const void* from, size_t bytes) {
  const auto* const first = static_cast<const uint8_t*>(from);
  for (const auto& [begin, size] : forbidden) {
    if (first >= begin + size || first + bytes <= begin) continue;
    std::fprintf(stderr, "a copy reads behind a tensor\n");
    std::exit(8);
  }
}
}  // namespace emulator
extern "C" [[gnu::used]] inline void emulator_forbid(const void* begin, size_t bytes) {
  if (begin == nullptr) emulator::forbidden.clear();
  if (bytes > 0) emulator::forbidden.emplace_back(static_cast<const uint8_t*>(begin), bytes);
}
// The kernels of the last call once more, with the same arguments: a captured graph's.
namespace emulator {
inline std::vector<std::function<void()>> launched;
}
extern "C" [[gnu::used]] inline void emulator_replay() {
  for (const auto& kernel : std::exchange(emulator::launched, {})) kernel();
}
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               const Arguments&... arguments) {
  emulator::launched.push_back([config = *config, kernel, arguments...] {
    emulator::launch(config.blocks.x, config.threads.x, config.shared_bytes,
                     [&] { kernel(arguments...); });
  });
  const emulator::Following before = std::exchange(emulator::following, {});
  emulator::launch(config->blocks.x, config->threads.x, config->shared_bytes,
                   [&] { kernel(arguments...); });
  // Called by one that had waited, a kernel may read before it waits; but it must not end before
  // that one.
  const bool beside = before.called && !before.called_early;
  const int64_t blocks = config->blocks.x, threads = blocks * config->threads.x;
  const int64_t waited = emulator::following.waited;
  if (beside ? waited >= blocks : waited == threads) return cudaSuccess;
  std::fprintf(stderr, "a thread does not wait for the kernels before\n");
  return cudaErrorInvalidValue;
}

#include "instructions.h"
using namespace emulated;
