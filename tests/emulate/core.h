// The core that emitted kernels run on: threads as fibers, their barriers and exchanges.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace emulator {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kSharedBytes = 232448;
constexpr int kWarp = 32;

struct Index {
  unsigned x = 0;
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
  std::vector<int> arrived;      // the threads that have in this phase
  uint64_t ended = 0;            // phases
  std::map<int, uint64_t> seen;  // how many had, by thread, when it had waited last
  void settle() {
    if (pending > 0 || bytes != 0) return;
    phase ^= 1;
    ++ended;
    pending = expected;
    arrived.clear();
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

// Of a thread that reads what the kernel before may still write.
void require_waited();
// Of memory that a copy reads: that nobody has forbidden it.
void require_of_tensor(const void* from, size_t bytes);

// The address that the hardware's swizzle makes of one in shared memory. `span`: 128 or 64 bytes.
inline uint32_t swizzle(uint32_t address, int span) {
  return span == 128 ? address ^ (address >> 7 & 7) << 4 : address ^ (address >> 7 & 3) << 4;
}

// Lets other threads go on.
void yield();
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

void mbarrier_init(const uint64_t& barrier, int arrivals);
Mbarrier& mbarrier_at(const uint64_t& barrier);
void named_arrive(int id, int threads);
void named_sync(int id, int threads);

// Runs a grid, block after block.
void launch(int blocks, int threads, size_t bytes, const std::function<void()>& body);

}  // namespace emulator
