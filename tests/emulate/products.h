// Matrix products of a warpgroup (wgmma), which read their operands when they are waited for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulated {

// The two rows of a thread within a warpgroup's 64, and its first column of a group of eight.
int row_of(int r);
int column_of();

// The operand A of a step of sixteen: four registers of the thread, or 64 rows in shared memory, by
// their descriptor.
struct Left {
  explicit Left(const uint32_t (&values)[4]) : registers(values) {}
  explicit Left(uint64_t rows) : descriptor(rows) {}
  const uint32_t* registers = nullptr;
  uint64_t descriptor = 0;
};

// Whether the rows of B are the rows of its tile (keys, states) or its columns (values, or the keys
// that a state sums up).
enum class Lies { ByRows, ByColumns };

// Adds to `groups` times four elements at d, [group][row][column], what the thread has of A B.
void multiply_later(float* d, int groups, Left left, uint64_t right, Lies lies, int accumulate);
void wgmma_commit();
void wait_for_products(size_t pending);

inline void wgmma_fence() {}
template <int kPending>
void wgmma_wait() {
  wait_for_products(kPending);
}
template <int kGroups, typename Query>
void wgmma_scores(float (&d)[kGroups][2][2], const Query& query, uint64_t b, int accumulate) {
  multiply_later(&d[0][0][0], kGroups, Left(query), b, Lies::ByRows, accumulate);
}
template <int kGroups>
void wgmma_far(float (&d)[kGroups][2][2], const uint32_t (&query)[4], uint64_t b, int accumulate) {
  multiply_later(&d[0][0][0], kGroups, Left(query), b, Lies::ByRows, accumulate);
}
template <int kGroups, typename Weights>
void wgmma_output(float (&d)[kGroups][2][2], const Weights& weights, uint64_t b, int accumulate) {
  multiply_later(&d[0][0][0], kGroups, Left(weights), b, Lies::ByColumns, accumulate);
}
template <int kGroups>
void wgmma_state(float (&d)[kGroups][2][2], const uint32_t (&values)[4], uint64_t b,
                 int accumulate) {
  multiply_later(&d[0][0][0], kGroups, Left(values), b, Lies::ByColumns, accumulate);
}
inline void wgmma_scan(float (&d)[8][2][2], const uint32_t (&weights)[4], uint64_t b,
                       int accumulate) {
  multiply_later(&d[0][0][0], 8, Left(weights), b, Lies::ByColumns, accumulate);
}

}  // namespace emulated
