// The sizes that both a schedule's fit and its cost count in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace attngen::schedule {

inline constexpr int kElement = 2;  // bytes of bf16 and fp16
// Query rows of a warpgroup: the height of a wgmma, on CDNA2 of two waves.
inline constexpr int kWarpgroupRows = 64;

// Hopper.
inline constexpr int kWarpgroupLanes = 128;  // threads of a warpgroup

// Whether rows of a tensor begin at odd multiples of 16 bytes, which TMA brings more slowly.
constexpr bool has_odd_rows(int columns) { return columns % 16 != 0; }

inline constexpr int kStateRows = 64;  // of a state, that a slot of keys takes
// Keys from a state to the next: where states are wider, their traffic asks for longer chunks.
// 128 and 512 are slower at head dims 64 and 128 (H200, 2026-11-23, a throw-away script).
// No longer than 512: of 768 the weights do not fit beside what the kernel that makes states loads.
constexpr int chunk_keys(int head_dim_qk) { return 2 * std::clamp(head_dim_qk, 128, 256); }
// Columns of a state that a block of the kernel before the main one makes. Where far keys have
// sums, these come before the states, so that the main kernel runs beside that one: which then
// takes few cores, and each value is made ready once. Else all wait for it, and many make it; but
// of states so wide that many make them anyway, the L2 would bring keys and values too often: head
// dim 256 takes 7 to 9 % less by 128 columns, 128 4 to 6 % more (H100, 2026-11-26, a throw-away
// script).
constexpr int state_columns(bool sums, int head_dim_qk) {
  const bool wide = sums || head_dim_qk >= 4 * kStateRows;
  return wide && head_dim_qk % (2 * kStateRows) == 0 ? 2 * kStateRows : kStateRows;
}
// Whether a tile needs its queries in registers: for sums of far keys, and for states where the
// accumulator leaves room for them.
constexpr bool holds_far_queries(bool sums, int head_dim_qk) { return sums || head_dim_qk <= 128; }
// Queries of a call from which on states are worth their kernel, by whether far keys are summed. By
// states, with sums: head dim 64, 1024 are 5 % faster, 128, 2048 0 to 4 %, 256, 4096 17 %; without:
// head dim 128, 2048 a quarter, 256, 2048 8 %; but 128, 1024 3 to 25 % slower (H200, 2026-11-23,
// throw-away scripts).
constexpr int fewest_far_queries(bool sums, int head_dim_qk) {
  return sums ? 16 * head_dim_qk : std::min(16 * head_dim_qk, 2048);
}

// CDNA2.
inline constexpr int kWaveRows = 32;  // query rows of a wave, the height of its matrix instructions
inline constexpr int kWaveLanes = 64;
inline constexpr int kSimds = 4;              // of a CU
inline constexpr int kDirectRegisters = 256;  // that instructions name; what lies beyond is moved

// Of blocks that a call's data decide on, a fifth is taken to be kept: block sparsity, and masks
// with gaps that inputs decide. Of these, half may exist whole.
inline constexpr double kKeptByData = 0.2, kWholeByData = 0.5;
// Where a mask reads ids of keys alone, which say what is padding, three in four are, nearly all
// whole.
inline constexpr double kKeptByKeys = 0.75, kWholeByKeys = 0.9;
// Where a mask is asked of all pairs beforehand, half of the blocks are, and of these half whole.
inline constexpr double kKeptByPairs = 0.5, kWholeByPairs = 0.5;
// Rows of blocks that are alike keep so many of those that the row before keeps. Of masks drawn by
// a throw-away script (2026-11-24): stripes 0.97, slashes 0.82, the top fifth of smooth scores
// 0.73.
inline constexpr double kKeptAgain = 0.8;
// Ids in no order are taken to come in stretches of so many keys.
inline constexpr double kStretch = 512;

// Of `count` things the `i`-th of `samples` that stand for all: one of each share, not the same one
// of each, as masks repeat themselves; of neighbours one as far from its share's begin as the other
// from its end, so that what grows evenly has the right sum.
inline int64_t spread_sample(int64_t i, int64_t samples, int64_t count) {
  if (samples == count) return i;
  constexpr double kGoldenRatio = 0.6180339887498949;
  const int64_t pair = i / 2 + 1;
  const double turn = static_cast<double>(pair) * kGoldenRatio;
  const double from_begin = turn - std::floor(turn);
  const double place = static_cast<double>(i) + (i % 2 == 0 ? from_begin : 1 - from_begin);
  const double share = static_cast<double>(count) / static_cast<double>(samples);
  return static_cast<int64_t>(place * share);
}

// The `i`-th of 0 .. count - 1 in an order that comes to all and repeats itself as masks hardly do:
// steps of the golden ratio, or the next longer ones. Of sixteen 0, 9, 2, 11, 4 ...
inline int64_t spread_turn(int64_t i, int64_t count) {
  int64_t step = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(count) * 0.618034));
  while (std::gcd(step, count) != 1) ++step;
  return i % count * step % count;
}

// 5 in multiples of 4 is 8.
inline int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace attngen::schedule
