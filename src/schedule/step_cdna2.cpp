#include "schedule/step_cdna2.h"

#include <algorithm>

namespace attngen::schedule {
namespace {

constexpr double kMatrixSlots = 16;  // of one 32x32x8: AMD matrix instruction calculator, 16 passes
constexpr double kSpecialSlots = 4;  // quarter rate: LLVM, SISchedule.td
constexpr int kLanes = 64;
constexpr int kRows = 32;

// Beside an element's exponential, per element: half a packed multiply, subtract and sum each, half
// a max3; the bf16 pack adds 0x8000 and takes half a permutation.
constexpr double kExponentialValu = 2.0;
constexpr double kPackValu = 1.5;
// Per element that a mask may cut: two compares, a select, a maximum.
constexpr double kCutValu = 4;
// What the loop needs once: buffer resources, addresses, the vote on the maximum.
constexpr double kLoopValu = 20;
constexpr double kLoopScalar = 45;
// From a barrier to the first product: two reads of LDS on their way.
constexpr double kLdsLatency = 24;

int blocks(int columns, int width) { return (columns + width - 1) / width; }

}  // namespace

StepCdna2 step_cdna2(const Kernel& kernel, const Schedule& s, BlockCdna2 block) {
  const int steps_qk = blocks(kernel.head_dim_qk, 16), key_blocks = s.tile_kv / 32;
  const int steps_kv = s.tile_kv / 16, output_blocks = blocks(kernel.head_dim_v, 32);
  const double products_qk = 2 * steps_qk * key_blocks;
  const double products_kv = 2 * steps_kv * output_blocks;
  const double elements = static_cast<double>(s.tile_kv) * kRows / kLanes;

  StepCdna2 step;
  step.matrix = kMatrixSlots * (products_qk + products_kv);
  expr::OperationCounts n{1, 0, 0, 0};
  double valu = elements * (kExponentialValu + kPackValu);
  if (!kernel.rows.exponential) {
    n = kernel.weight;
    valu = elements * kPackValu;
  }
  if (!kernel.plain_score) {
    n.special += kernel.score.special;
    n.multiply += kernel.score.multiply;
    n.logic += kernel.score.logic;
    n.load += kernel.score.load;
  }
  double cut = 0;
  if (block == BlockCdna2::Cut) {
    cut = elements * (kCutValu + std::max(0.0, kernel.mask.multiply + kernel.mask.logic - 3) +
                      kSpecialSlots * kernel.mask.special + 4 * kernel.mask.load);
  }
  step.special = elements * kSpecialSlots * n.special;
  // Staging: a thread's share of K and V; V through four permutations for two words.
  const double threads = 2.0 * s.warpgroups * kLanes;
  const double key_words = s.tile_kv * steps_qk * 16 / 8 / threads;  // of 16 bytes
  const double value_words = s.tile_kv * kernel.head_dim_v / 8 / threads;
  valu += 4 * value_words + kLoopValu;
  const double reads = steps_qk * key_blocks + steps_kv * output_blocks;  // ds_read_b128
  const double memory = 2 * key_words + 3 * value_words;
  step.valu = step.special + valu + elements * (n.multiply + n.logic) + cut;
  step.other = reads * 1.5 + memory + kLoopScalar + elements * n.load;
  // 1024 bytes a read at 128 bytes a clk, twice that for a write's four 16-byte words in turn.
  step.shared_clk = 8 * reads + 16 * (key_words + value_words);

  // The first phase multiplies keys beside the weights of the block before, the second multiplies
  // values beside the rest. A product leaves 15 slots for the wave's other instructions.
  const double first_other = step.special + elements * (1.5 + kPackValu) + 4 * value_words +
                             1.5 * steps_qk * key_blocks + 2 * memory / 3;
  const double second_other = step.valu + step.other - cut - first_other;
  const auto phase = [](double products, double others) {
    return std::max(kMatrixSlots * products, products + others) + kLdsLatency;
  };
  if (kernel.rows.exponential) {
    step.alone = phase(products_qk, first_other) + phase(products_kv, second_other) + cut;
  } else {
    step.alone = step.matrix + step.valu + 2 * kLdsLatency;
  }
  return step;
}

}  // namespace attngen::schedule
