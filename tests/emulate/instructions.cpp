#include "instructions.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace emulated {
namespace {

// TMA exchanges 16 bytes by the address in shared memory, wherever the tile begins.
uint32_t tile_address(const CUtensorMap& map, const void* tile) {
  const uint32_t base = shared_address(tile);
  const int rows = map.box[1] * map.box[2] * map.box[3];
  if (base % 128 != 0 || base + static_cast<size_t>(rows * map.span) > emulator::kSharedBytes) {
    std::fprintf(stderr, "no place for a tile: byte %u of the shared memory\n", base);
    std::exit(8);
  }
  return base;
}
// Calls `each(pointer to the element, or null outside the tensor; its byte in the tile)`.
template <typename Each>
void for_box(const CUtensorMap& map, int column, int row, int head, int batch, const Each& each) {
  for (int r = 0; r < map.box[1] * map.box[2] * map.box[3]; ++r) {
    for (int c = 0; c < map.box[0]; ++c) {
      const int64_t at[4] = {column + c, row + r % map.box[1] * map.steps[1],
                             head + r / map.box[1] % map.box[2] * map.steps[2],
                             batch + r / map.box[1] / map.box[2]};
      bool inside = true;
      uint8_t* element = map.data;
      for (int i = 0; i < 4; ++i) {
        inside = inside && at[i] >= 0 && at[i] < map.dims[i];
        element += at[i] * map.strides[i];
      }
      each(inside ? element : nullptr, static_cast<uint32_t>(r * map.span + 2 * c));
    }
  }
}

// Copies of a stretch take 16 bytes at a time, at either end.
void require_stretch(const void* shared, const void* global, int bytes) {
  const uint32_t first = shared_address(shared);
  if (first % 16 == 0 && reinterpret_cast<uintptr_t>(global) % 16 == 0 && bytes % 16 == 0 &&
      bytes > 0 && first + static_cast<size_t>(bytes) <= emulator::kSharedBytes) {
    return;
  }
  std::fprintf(stderr, "no copy takes these %d bytes: byte %u of the shared memory\n", bytes,
               first);
  std::exit(8);
}

// At any time up to where the thread waits for it.
void copy_in_time(void* to, const void* from, size_t bytes) {
  emulator::require_of_tensor(from, bytes);
  if (emulator::core->random() % 2 == 0) {
    std::memcpy(to, from, bytes);
  } else {
    emulator::core->current->words.push_back([=] { std::memcpy(to, from, bytes); });
  }
}

emulator::Lanes<uint32_t> matrix_rows(const uint8_t* row) {
  const uint32_t address = shared_address(row);
  if (address % 16 != 0 || address + 16 > emulator::kSharedBytes) std::abort();
  return emulator::exchange(address);
}

}  // namespace

void barrier_init(uint64_t& barrier, int arrivals) { emulator::mbarrier_init(barrier, arrivals); }

namespace {

void refuse_arrival() {
  std::fprintf(stderr, "a thread arrives twice in one phase\n");
  std::exit(7);
}

void arrive(emulator::Mbarrier& b) {
  if (--b.pending < 0) refuse_arrival();
  b.settle();
}

}  // namespace

// Who arrives a second time in one phase takes it for the next: others of this one are not there
// yet.
void barrier_arrive(uint64_t& barrier) {
  emulator::Mbarrier& b = emulator::mbarrier_at(barrier);
  const int thread = emulator::core->current->index;
  if (std::ranges::find(b.arrived, thread) != b.arrived.end()) refuse_arrival();
  b.arrived.push_back(thread);
  arrive(b);
}
void barrier_expect(uint64_t& barrier, int bytes) {
  emulator::mbarrier_at(barrier).bytes += bytes;
  barrier_arrive(barrier);
}
void barrier_expect_more(uint64_t& barrier, int bytes) {
  emulator::mbarrier_at(barrier).bytes += bytes;
}
namespace {

// Who misses a phase may take an earlier one, of the same parity, for the next.
void see_phase(emulator::Mbarrier& b) {
  const auto [at, is_first] = b.seen.try_emplace(emulator::core->current->index, b.ended);
  if (!is_first && b.ended - at->second > 1) {
    std::fprintf(stderr, "a thread waits for a barrier of which it has missed a phase\n");
    std::exit(7);
  }
  at->second = b.ended;
}

}  // namespace

bool barrier_test(uint64_t& barrier, uint32_t parity) {
  emulator::Mbarrier& b = emulator::mbarrier_at(barrier);
  if (b.phase == parity) return false;
  see_phase(b);
  return true;
}
void barrier_wait(uint64_t& barrier, uint32_t parity) {
  emulator::Mbarrier& b = emulator::mbarrier_at(barrier);
  emulator::wait_until([&] { return b.phase != parity; });
  see_phase(b);
}
unsigned warp_or(unsigned x) {
  const auto all = emulator::exchange(x);
  unsigned bits = 0;
  for (size_t lane = 0; lane < 32; ++lane) bits |= all[lane];
  return bits;
}

void tma_load(const CUtensorMap& map, uint64_t& barrier, void* tile, int column, int row, int head,
              int batch, uint64_t) {
  uint64_t* const full = &barrier;
  const uint32_t base = tile_address(map, tile);
  emulator::core->copies.push_back([=] {  // the map too: a thread may end before its copies
    for_box(map, column, row, head, batch, [&](const uint8_t* element, uint32_t byte) {
      uint8_t* const to = emulator::core->shared + emulator::swizzle(base + byte, map.span);
      if (element != nullptr) {
        std::memcpy(to, element, 2);
      } else {
        std::memset(to, 0, 2);
      }
    });
    emulator::Mbarrier& b = emulator::mbarrier_at(*full);
    b.bytes -= int64_t{2} * map.box[0] * map.box[1] * map.box[2] * map.box[3];
    b.settle();
  });
}
void tma_store(const CUtensorMap& map, const void* tile, int column, int row, int head, int batch) {
  const uint32_t base = tile_address(map, tile);
  emulator::core->current->stores.push_back([=] {
    for_box(map, column, row, head, batch, [&](uint8_t* element, uint32_t byte) {
      if (element == nullptr) return;
      std::memcpy(element, emulator::core->shared + emulator::swizzle(base + byte, map.span), 2);
    });
  });
}
void tma_store_wait() {
  auto& stores = emulator::core->current->stores;
  for (const auto& store : stores) store();
  stores.clear();
}

void bulk_load(uint64_t& barrier, void* to, const void* from, int bytes) {
  require_stretch(to, from, bytes);
  emulator::require_waited();
  uint64_t* const full = &barrier;
  emulator::core->copies.push_back([=] {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    emulator::Mbarrier& b = emulator::mbarrier_at(*full);
    b.bytes -= bytes;
    b.settle();
  });
}
void bulk_store(void* to, const void* from, int bytes) {
  require_stretch(from, to, bytes);
  emulator::core->current->stores.push_back(
      [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void copy_chunk(void* to, const void* from) {
  if (reinterpret_cast<uintptr_t>(from) % 16 != 0 || shared_address(to) % 16 != 0) {
    std::fprintf(stderr, "a chunk between two\n");
    std::exit(8);
  }
  copy_in_time(to, from, 16);
}
void copy_bytes(int count, void* to, const void* from) {
  if (count == 16) return copy_chunk(to, from);
  emulator::require_of_tensor(from, 16);
  emulator::core->current->words.push_back([=] {
    std::memset(to, 0, 16);
    std::memcpy(to, from, static_cast<size_t>(count));
  });
}
void copy_chunk_at(int place, void* to, const void* from) {
  if (place >= 0) return copy_chunk(to, from);
  emulator::core->current->words.push_back([=] { std::memset(to, 0, 16); });
}
void arrive_once_copied(uint64_t& barrier) {
  uint64_t* const full = &barrier;
  emulator::core->copies.push_back([full, words = std::move(emulator::core->current->words)] {
    for (const auto& word : words) word();
    arrive(emulator::mbarrier_at(*full));
  });
  emulator::core->current->words.clear();
}
void wait_for_copies() {
  for (const auto& word : emulator::core->current->words) word();
  emulator::core->current->words.clear();
}

void load_matrices(uint32_t (&x)[4], const uint8_t* row) {
  const auto rows = matrix_rows(row);
  const size_t lane = emulator::thread_index().x % 32;
  for (size_t i = 0; i < 4; ++i) {
    std::memcpy(&x[i], emulator::core->shared + rows[8 * i + lane / 4] + lane % 4 * 4, 4);
  }
}
void load_transposed(uint32_t (&x)[4], const uint8_t* row) {
  const auto rows = matrix_rows(row);
  const size_t lane = emulator::thread_index().x % 32;
  for (size_t i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (size_t e = 0; e < 2; ++e) {
      const uint32_t from = rows[8 * i + lane % 4 * 2 + e];
      std::memcpy(&pair[e], emulator::core->shared + from + lane / 4 * 2, 2);
    }
    std::memcpy(&x[i], pair, 4);
  }
}

}  // namespace emulated
