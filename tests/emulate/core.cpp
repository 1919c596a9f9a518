#include "core.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace emulator {

// From thread to thread by jumps: swapcontext saves the signals' mask, two system calls a switch.
void yield() {
  if (_setjmp(core->current->place) == 0) _longjmp(core->scheduler, 1);
}

namespace {

struct alignas(1024) SharedMemory {
  uint8_t bytes[kSharedBytes];
};

void go_on(Fiber& fiber) {
  if (_setjmp(core->scheduler) != 0) return;
  if (std::exchange(fiber.begun, true)) _longjmp(fiber.place, 1);
  setcontext(&fiber.entry);
}

void entry() {
  for (;;) {  // the thread of one block after another
    core->body();
    core->current->done = true;
    core->waiting = 0;
    yield();
  }
}

void complete_one_copy() {
  const size_t i = core->random() % core->copies.size();
  const std::function<void()> copy = std::move(core->copies[i]);
  core->copies.erase(core->copies.begin() + static_cast<std::ptrdiff_t>(i));
  copy();
  core->waiting = 0;
}

// Lets a thread go on, unless what it waits for is still to come.
void run(Core& one, Fiber& fiber) {
  one.current = &fiber;
  if (fiber.awaited != nullptr && !fiber.ready(fiber.awaited)) {
    ++one.waiting;
    return;
  }
  fiber.awaited = nullptr;
  go_on(fiber);
}

// Now and then a warpgroup rests until the others have gone on as far as they can without it.
void let_warpgroup_rest(Core& one, std::vector<unsigned>& rests) {
  constexpr size_t kWarps = 4;
  if (one.random() % 16 != 0) return;
  const size_t first = one.random() % rests.size() / kWarps * kWarps;
  for (size_t i = first; i < std::min(first + kWarps, rests.size()); ++i) rests[i] = 64;
}

// Each warp that does not rest has a turn, from any of them on; whether a thread is left. Warps
// fall behind each other: now and then one rests for some rounds.
bool run_round(Core& one, std::vector<unsigned>& rests) {
  const size_t warps = rests.size(), first = one.random() % warps;
  let_warpgroup_rest(one, rests);
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
std::span<const std::unique_ptr<Fiber>> rested_fibers(int threads) {
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

// Of a block at its end: that nothing is left to do.
void require_settled(const Core& one) {
  for (const auto& fiber : one.fibers) {
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
  if (!one.copies.empty()) {
    std::fprintf(stderr, "a copy is under way at the end\n");
    std::exit(6);
  }
}

void run_block(unsigned block, unsigned grid, int threads, const std::function<void()>& body) {
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
  require_settled(one);
  core = nullptr;
}

}  // namespace

void launch(int blocks, int threads, size_t bytes, const std::function<void()>& body) {
  if (bytes > kSharedBytes || threads % kWarp != 0 || threads > 1024) std::abort();
  for (int block = 0; block < blocks; ++block) {
    run_block(static_cast<unsigned>(block), static_cast<unsigned>(blocks), threads, body);
  }
}

void mbarrier_init(const uint64_t& barrier, int arrivals) {
  core->mbarriers[&barrier] = {arrivals, arrivals, 0, 0, {}, 0, {}};
}
Mbarrier& mbarrier_at(const uint64_t& barrier) { return core->mbarriers.at(&barrier); }
void named_arrive(int id, int threads) {
  NamedBarrier& barrier = core->named[id];
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.round;
  }
}
void named_sync(int id, int threads) {
  NamedBarrier& barrier = core->named[id];
  const uint64_t round = barrier.round;
  named_arrive(id, threads);
  wait_until([&] { return barrier.round != round; });
}

}  // namespace emulator
