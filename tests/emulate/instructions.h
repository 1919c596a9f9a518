// In the place of inline assembly, by the names of the templates' functions: for emulator.h, whose
// core they run on.
#pragma once

namespace emulated {

inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(static_cast<const uint8_t*>(pointer) - emulator::core->shared);
}
inline void barrier_init(uint64_t& barrier, int arrivals) {
  emulator::mbarrier_init(barrier, arrivals);
}
inline void barrier_arrive(uint64_t& barrier) {
  emulator::Mbarrier& b = emulator::mbarrier_at(barrier);
  if (--b.pending < 0) {
    std::fprintf(stderr, "a thread arrives twice in one phase\n");
    std::exit(7);
  }
  b.settle();
}
inline void barrier_expect(uint64_t& barrier, int bytes) {
  emulator::mbarrier_at(barrier).bytes += bytes;
  barrier_arrive(barrier);
}
inline void barrier_expect_more(uint64_t& barrier, int bytes) {
  emulator::mbarrier_at(barrier).bytes += bytes;
}
inline bool barrier_test(uint64_t& barrier, uint32_t parity) {
  return emulator::mbarrier_at(barrier).phase != parity;
}
inline void barrier_wait(uint64_t& barrier, uint32_t parity) {
  emulator::Mbarrier& b = emulator::mbarrier_at(barrier);
  emulator::wait_until([&] { return b.phase != parity; });
}
inline unsigned warp_or(unsigned x) {
  const auto all = emulator::exchange(x);
  unsigned bits = 0;
  for (size_t lane = 0; lane < 32; ++lane) bits |= all[lane];
  return bits;
}
inline void named_sync(int id, int threads) { emulator::named_sync(id, threads); }
inline void named_arrive(int id, int threads) { emulator::named_arrive(id, threads); }

// TMA exchanges 16 bytes by the address in shared memory, wherever the tile begins.
inline uint32_t tile_address(const CUtensorMap& map, const void* tile) {
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
inline void tma_load(const CUtensorMap& map, uint64_t& barrier, void* tile, int column, int row,
                     int head, int batch, uint64_t) {
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
    b.bytes -= map.box[0] * map.box[1] * map.box[2] * map.box[3] * 2;
    b.settle();
  });
}
inline void tma_store(const CUtensorMap& map, const void* tile, int column, int row, int head,
                      int batch) {
  const uint32_t base = tile_address(map, tile);
  emulator::core->current->stores.push_back([=] {
    for_box(map, column, row, head, batch, [&](uint8_t* element, uint32_t byte) {
      if (element == nullptr) return;
      std::memcpy(element, emulator::core->shared + emulator::swizzle(base + byte, map.span), 2);
    });
  });
}
inline void tma_store_wait() {
  auto& stores = emulator::core->current->stores;
  for (const auto& store : stores) store();
  stores.clear();
}

// Copies of a stretch take 16 bytes at a time, at either end.
inline void require_stretch(const void* shared, const void* global, int bytes) {
  const uint32_t first = shared_address(shared);
  if (first % 16 == 0 && reinterpret_cast<uintptr_t>(global) % 16 == 0 && bytes % 16 == 0 &&
      bytes > 0 && first + static_cast<size_t>(bytes) <= emulator::kSharedBytes) {
    return;
  }
  std::fprintf(stderr, "no copy takes these %d bytes: byte %u of the shared memory\n", bytes,
               first);
  std::exit(8);
}
inline void bulk_load(uint64_t& barrier, void* to, const void* from, int bytes) {
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
inline void bulk_store(void* to, const void* from, int bytes) {
  require_stretch(from, to, bytes);
  emulator::core->current->stores.push_back(
      [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}
// At any time up to where the thread waits for it.
inline void copy_in_time(void* to, const void* from, size_t bytes) {
  emulator::require_of_tensor(from, bytes);
  if (emulator::core->random() % 2 == 0) {
    std::memcpy(to, from, bytes);
  } else {
    emulator::core->current->words.push_back([=] { std::memcpy(to, from, bytes); });
  }
}
inline void copy_chunk(void* to, const void* from) {
  if (reinterpret_cast<uintptr_t>(from) % 16 != 0 || shared_address(to) % 16 != 0) {
    std::fprintf(stderr, "a chunk between two\n");
    std::exit(8);
  }
  copy_in_time(to, from, 16);
}
// All 16 bytes are to be of the tensor, as memcheck wants, though no more than `count` are read.
inline void copy_bytes(int count, void* to, const void* from) {
  if (count == 16) return copy_chunk(to, from);
  emulator::require_of_tensor(from, 16);
  emulator::core->current->words.push_back([=] {
    std::memset(to, 0, 16);
    std::memcpy(to, from, static_cast<size_t>(count));
  });
}
inline void copy_chunk_at(int place, void* to, const void* from) {
  if (place >= 0) return copy_chunk(to, from);
  emulator::core->current->words.push_back([=] { std::memset(to, 0, 16); });
}
// The thread's copies end before this, at any time.
inline void arrive_once_copied(uint64_t& barrier) {
  uint64_t* const full = &barrier;
  emulator::core->copies.push_back([full, words = std::move(emulator::core->current->words)] {
    for (const auto& word : words) word();
    barrier_arrive(*full);
  });
  emulator::core->current->words.clear();
}
inline void wait_for_copies() {
  for (const auto& word : emulator::core->current->words) word();
  emulator::core->current->words.clear();
}
inline void prefetch(const void*) {}
inline void prefetch_map(const CUtensorMap&) {}
inline void tma_prefetch(const CUtensorMap&, int, int, int, int) {}
inline void fence_async_proxy() {}

inline void wgmma_fence() {}
inline void wgmma_commit() {
  emulator::Fiber& fiber = *emulator::core->current;
  fiber.groups.push_back(std::move(fiber.open));
  fiber.open.clear();
}
template <int kPending>
void wgmma_wait() {
  emulator::Fiber& fiber = *emulator::core->current;
  while (fiber.groups.size() > kPending) {
    for (const auto& product : fiber.groups.front()) product();
    fiber.groups.pop_front();
  }
  __syncwarp();  // an operand in shared memory is the whole warp's
}

// The two rows of a thread within a warpgroup's 64, and its first column of a group of eight.
inline int row_of(int r) {
  const int thread = static_cast<int>(emulator::thread_index().x);
  return thread / 32 % 4 * 16 + thread % 32 / 4 + 8 * r;
}
inline int column_of() { return static_cast<int>(emulator::thread_index().x) % 4 * 2; }

// Of a step of sixteen, a thread's two rows of the operand A.
struct Rows {
  float x[2][16];
};
inline Rows rows_of(const emulator::Operand& a) {
  Rows rows;
  for (int r = 0; r < 2; ++r) a.by_row(row_of(r), rows.x[r]);
  return rows;
}
// In registers: a row's sixteen lie in the four lanes that share it.
inline Rows rows_of(const uint32_t (&a)[4]) {
  Rows rows;
  const int quad = static_cast<int>(emulator::thread_index().x) % 32 / 4 * 4;
  for (int i = 0; i < 4; ++i) {  // a[0], a[1]: columns 0-7 of both rows; a[2], a[3]: 8-15
    const auto all = emulator::exchange(a[i]);
    for (int lane = 0; lane < 4; ++lane) {
      const uint32_t pair = all[static_cast<size_t>(quad + lane)];
      rows.x[i % 2][i / 2 * 8 + 2 * lane] = emulator::from_storage(pair & 0xFFFF);
      rows.x[i % 2][i / 2 * 8 + 2 * lane + 1] = emulator::from_storage(pair >> 16);
    }
  }
  return rows;
}

// Whether the rows of B are the rows of its tile (keys, states) or its columns (values, or the keys
// that a state sums up).
enum class Lies { ByRows, ByColumns };

#define OPTIMISED __attribute__((optimize("O2"), flatten))
// Elements [group][row][column] of a thread's part of a product. Much of the tests' time goes here.
OPTIMISED inline void multiply(float* d, int groups, const Rows& left,
                               const emulator::Operand& right, Lies lies, int accumulate) {
  for (int j = 0; j < groups; ++j) {
    float b[2][16], sums[2][2];  // side by side: each is a chain
    for (int e = 0; e < 2; ++e) {
      const int column = 8 * j + column_of() + e;
      lies == Lies::ByRows ? right.by_row(column, b[e]) : right.by_column(column, b[e]);
      for (int r = 0; r < 2; ++r) sums[r][e] = accumulate ? d[4 * j + 2 * r + e] : 0;
    }
    for (int k = 0; k < 16; ++k) {
      sums[0][0] += left.x[0][k] * b[0][k];
      sums[0][1] += left.x[0][k] * b[1][k];
      sums[1][0] += left.x[1][k] * b[0][k];
      sums[1][1] += left.x[1][k] * b[1][k];
    }
    std::memcpy(&d[4 * j], sums, sizeof(sums));
  }
}
// `left()` gives the thread's rows of A when the product is computed: when it is waited for.
template <int kGroups, typename A>
void multiply_later(float (&d)[kGroups][2][2], const A& left, uint64_t right, Lies lies,
                    int accumulate) {
  emulator::core->current->open.push_back([=, &d] {
    multiply(&d[0][0][0], kGroups, left(), emulator::Operand(right), lies, accumulate);
  });
}
template <int kGroups>
void wgmma_scores(float (&d)[kGroups][2][2], uint64_t a, uint64_t b, int accumulate) {
  const emulator::Operand query(a);
  multiply_later(
      d, [=] { return rows_of(query); }, b, Lies::ByRows, accumulate);
}
template <int kGroups>
void wgmma_far(float (&d)[kGroups][2][2], const uint32_t (&query)[4], uint64_t b, int accumulate) {
  multiply_later(
      d, [&query] { return rows_of(query); }, b, Lies::ByRows, accumulate);
}
template <int kGroups>
void wgmma_output(float (&d)[kGroups][2][2], uint64_t a, uint64_t b, int accumulate) {
  const emulator::Operand weights(a);
  multiply_later(
      d, [=] { return rows_of(weights); }, b, Lies::ByColumns, accumulate);
}
template <int kGroups>
void wgmma_output(float (&d)[kGroups][2][2], const uint32_t (&weights)[4], uint64_t b,
                  int accumulate) {
  multiply_later(
      d, [&weights] { return rows_of(weights); }, b, Lies::ByColumns, accumulate);
}
template <int kGroups>
void wgmma_state(float (&d)[kGroups][2][2], const uint32_t (&values)[4], uint64_t b,
                 int accumulate) {
  multiply_later(
      d, [&values] { return rows_of(values); }, b, Lies::ByColumns, accumulate);
}

// ldmatrix, of four 8x8 matrices: lanes 8 i .. 8 i + 7 name the rows of matrix i. A lane gets two
// elements of each, those of row lane / 4 and columns 2 (lane % 4) and one further.
inline emulator::Lanes<uint32_t> matrix_rows(const uint8_t* row) {
  const uint32_t address = shared_address(row);
  if (address % 16 != 0 || address + 16 > emulator::kSharedBytes) std::abort();
  return emulator::exchange(address);
}
inline void load_matrices(uint32_t (&x)[4], const uint8_t* row) {
  const auto rows = matrix_rows(row);
  const size_t lane = emulator::thread_index().x % 32;
  for (size_t i = 0; i < 4; ++i) {
    std::memcpy(&x[i], emulator::core->shared + rows[8 * i + lane / 4] + lane % 4 * 4, 4);
  }
}
// The matrices transposed: a lane's two elements are one below the other.
inline void load_transposed(uint32_t (&x)[4], const uint8_t* row) {
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

inline uint32_t pack(float low, float high) {
  return emulator::to_storage(low) | static_cast<uint32_t>(emulator::to_storage(high)) << 16;
}
inline uint32_t pack_positive_part(float low, float high) {
  const auto positive = [](float x) { return x < 0 ? 0 : x; };
  return pack(positive(low), positive(high));
}
inline float exp2_approx(float x) { return std::exp2(x); }
inline float log2_approx(float x) { return std::log2(x); }
inline float from_fp16(uint16_t x) { return static_cast<float>(std::bit_cast<_Float16>(x)); }
inline float from_half(uint16_t x) { return from_fp16(x); }
inline float tanh_approx(float x) { return std::tanh(x); }
inline float reciprocal(float x) { return 1 / x; }

}  // namespace emulated
