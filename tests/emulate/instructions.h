// In the place of inline assembly, by the names of the templates' functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "core.h"
#include "runtime.h"
#include "storage.h"

namespace emulated {

inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(static_cast<const uint8_t*>(pointer) - emulator::core->shared);
}

void barrier_init(uint64_t& barrier, int arrivals);
void barrier_arrive(uint64_t& barrier);
void barrier_expect(uint64_t& barrier, int bytes);
void barrier_expect_more(uint64_t& barrier, int bytes);
bool barrier_test(uint64_t& barrier, uint32_t parity);
void barrier_wait(uint64_t& barrier, uint32_t parity);
inline void named_sync(int id, int threads) { emulator::named_sync(id, threads); }
inline void named_arrive(int id, int threads) { emulator::named_arrive(id, threads); }
unsigned warp_or(unsigned x);

// TMA. The last parameter says what the L2 is to keep.
void tma_load(const CUtensorMap& map, uint64_t& barrier, void* tile, int column, int row, int head,
              int batch, uint64_t policy);
void tma_store(const CUtensorMap& map, const void* tile, int column, int row, int head, int batch);
void tma_store_wait();
void bulk_load(uint64_t& barrier, void* to, const void* from, int bytes);
void bulk_store(void* to, const void* from, int bytes);

// A thread's copies (cp.async), which end at any time up to where it waits for them.
void copy_chunk(void* to, const void* from);
// All 16 bytes are to be of the tensor, as memcheck wants, though no more than `count` are read.
void copy_bytes(int count, void* to, const void* from);
void copy_chunk_at(int place, void* to, const void* from);
// They end before this, at any time.
void arrive_once_copied(uint64_t& barrier);
void wait_for_copies();

inline void prefetch(const void*) {}
inline void prefetch_map(const CUtensorMap&) {}
inline void tma_prefetch(const CUtensorMap&, int, int, int, int) {}
inline void fence_async_proxy() {}

// ldmatrix, of four 8x8 matrices: lanes 8 i .. 8 i + 7 name the rows of matrix i. A lane gets two
// elements of each, those of row lane / 4 and columns 2 (lane % 4) and one further.
void load_matrices(uint32_t (&x)[4], const uint8_t* row);
// The matrices transposed: a lane's two elements are one below the other.
void load_transposed(uint32_t (&x)[4], const uint8_t* row);

inline uint32_t pack(float low, float high) {
  return emulator::to_storage(low) | static_cast<uint32_t>(emulator::to_storage(high)) << 16;
}
inline uint32_t pack_positive_part(float low, float high) {
  const auto positive = [](float x) { return x < 0 ? 0 : x; };
  return pack(positive(low), positive(high));
}
inline float exp2_approx(float x) { return std::exp2(x); }
inline float log2_approx(float x) { return std::log2(x); }
inline float tanh_approx(float x) { return std::tanh(x); }
inline float square_root(float x) { return std::sqrt(x); }
inline float reciprocal(float x) { return 1 / x; }

}  // namespace emulated
