// The two products of a block of keys, cut into single matrix instructions. After each one `piece`
// puts a slice of other work: a matrix instruction keeps its unit busy for 16 issue slots, of which
// the wave may use 15. Fragments are read from LDS one group of up to four instructions ahead.
#pragma once

#include "keys.h"
#include "values.h"

typedef Block Scores[kKeyBlocks];      // S^T: element [j][e] is key 32 j + 8 (e / 4) + e % 4
typedef Block Output[kOutputBlocks];   // O^T: columns likewise
typedef Operand Query[2 * kStepsQk];   // Q^T, the whole head dim
typedef Words2 Weights[2 * kStepsKv];  // P^T, packed pairs

// The key of an element among its block's, for a lane of the first half; 4 more for the second.
__device__ constexpr int key_of(int j, int e) { return 32 * j + e / 4 * 8 + e % 4; }

constexpr int kProductsQk = 2 * kStepsQk * kKeyBlocks;
constexpr int kProductsKv = 2 * kStepsKv * kOutputBlocks;

__device__ __forceinline__ int lane_row() { return threadIdx.x % 32; }
__device__ __forceinline__ int lane_half() { return threadIdx.x / 32 % 2; }

// D[row block] += A[row block][step] B[step] over all steps. `read(r, step)` is the chunk of A,
// `b(k)` the operand of half step k, `d(r)` the accumulator.
template <int kRowBlocks, int kSteps, bool kFromZero, typename Read, typename B, typename Piece>
__device__ __forceinline__ void multiply_all(Block (&d)[kRowBlocks], const Read& read, const B& b,
                                             const Piece& piece) {
  constexpr int kPairs = (kRowBlocks + 1) / 2;  // two accumulators take turns
  constexpr int kGroups = kSteps * kPairs;
  Words4 chunks[2][2];
  const auto fetch = [&](int group) __attribute__((always_inline)) {
    const int first = group % kPairs * 2;
    chunks[group % 2][0] = read(first, group / kPairs);
    if (first + 1 < kRowBlocks) chunks[group % 2][1] = read(first + 1, group / kPairs);
  };
  fetch(0);
  int done = 0;
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const int first = group % kPairs * 2, step = group / kPairs;
    if (group + 1 < kGroups) fetch(group + 1);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (first + r >= kRowBlocks) continue;
        const Operand a = half_of(chunks[group % 2][r], half);
        keep_order();
        const Block zero = {};
        d[first + r] = multiply(a, b(2 * step + half),
                                kFromZero && step == 0 && half == 0 ? zero : d[first + r]);
        keep_order();
        piece(done++);
      }
    }
  }
  keep_order();
}

// S^T = K Q^T.
template <typename Piece>
__device__ __forceinline__ void multiply_keys(Scores& scores, const uint8_t* keys,
                                              const Query& query, const Piece& piece) {
  int first = key_place(lane_row(), lane_half());
  pin(first);
  multiply_all<kKeyBlocks, kStepsQk, true>(
      scores,
      [&](int j, int step) __attribute__((always_inline)) {
        const int place = key_place_at(first, step) + j * 32 * kKeyPitch * 16;
        return *reinterpret_cast<const Words4*>(keys + place);
      },
      [&](int k) __attribute__((always_inline)) { return query[k]; }, piece);
}

// O^T += V^T P^T.
template <typename Piece>
__device__ __forceinline__ void multiply_values(Output& output, const uint8_t* values,
                                                const Weights& weights, const Piece& piece) {
  int first = value_place(lane_row(), lane_half());
  pin(first);
  multiply_all<kOutputBlocks, kStepsKv, false>(
      output,
      [&](int j, int step) __attribute__((always_inline)) {
        const int place = value_place_step(first, step) + j * 32 * kChunksKv * 16;
        return *reinterpret_cast<const Words4*>(values + place);
      },
      [&](int k) __attribute__((always_inline)) { return __builtin_bit_cast(Operand, weights[k]); },
      piece);
}
