#include "schedule/step_cdna2.h"

#include <algorithm>

#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr double kMatrixSlots = 16;  // of one 32x32x8: AMD matrix instruction calculator, 16 passes
constexpr double kSpecialSlots = 4;  // quarter rate: LLVM, SISchedule.td

// Per element, beside its exponential: half a packed subtraction and half a packed sum under the
// first product; a multiplication and half a max3 under the second.
constexpr double kWeighValu = 1, kFinishValu = 1.5;
// Packing: bf16 adds 0x8000 and takes half a permutation; fp16 half a conversion. Where no sum
// shows a NaN, bf16 takes one more to keep it.
constexpr double kPackBf16 = 1.5, kPackFp16 = 0.5, kKeepNan = 1;
// Per element that a mask may cut: compare, select; half a maximum if that comes after the product.
constexpr double kCutValu = 2, kCutMaximum = 0.5;

// Fitted to llvm-mca-15's account of this family's kernels (scripts/mi250_timing.py, 2026-11-21;
// head dims 40 to 256, tiles of 32 to 128 keys): a step's products take 16 slots each and 22 more
// for the vote on the maximum, the resources and the way back; what a phase has beside its products
// stays hidden up to 13 slots a product, of what exceeds them 0.6 show.
constexpr double kLoop = 22, kHidden = 13, kShown = 0.6;
// Of a cache in pages smaller than a tile, each row that a thread copies (2026-11-30, head dim 128,
// pages of 1 and 16 keys): whether its page exists, and where it lies, in 64 bits.
constexpr double kPageRow = 10;
constexpr double kDependent = 2;  // of two products in a row on one accumulator
// Beyond 256 registers a wave keeps accumulators apart, in the other half of the file, and moves
// some of them: half a slot a product (2026-11-22).
constexpr double kMoves = 0.5;

int blocks(int columns, int width) { return (columns + width - 1) / width; }

// A product and what stands beside it.
double phase(double products, double beside) {
  return kMatrixSlots * products + kShown * std::max(0.0, beside - kHidden * products);
}

// What a mask takes of the elements of a block that it cuts.
double cut_of(const Kernel& kernel, double elements) {
  return elements * (kCutValu + kernel.mask.multiply + kernel.mask.logic - 2 +
                     kSpecialSlots * kernel.mask.special + 2 * kernel.mask.load +
                     (kernel.tested_mask ? kCutMaximum : 0));
}

}  // namespace

StepCdna2 step_cdna2(const Kernel& kernel, const Schedule& s, const Resources& resources,
                     BlockCdna2 block) {
  const int steps_qk = blocks(kernel.head_dim_qk, 16), key_blocks = s.tile_kv / 32;
  const int steps_kv = s.tile_kv / 16, output_blocks = blocks(kernel.head_dim_v, 32);
  const double products_qk = 2 * steps_qk * key_blocks;
  const double products_kv = 2 * steps_kv * output_blocks;
  const double elements = static_cast<double>(s.tile_kv) * kWaveRows / kWaveLanes;
  const double pack = elements * (kernel.bf16 ? kPackBf16 : kPackFp16);

  // What the user's functions take.
  const expr::OperationCounts n =
      kernel.score +
      (kernel.rows.exponential ? expr::OperationCounts{.special = 1} : kernel.weight);
  const double user = elements * (n.multiply + n.logic + 2 * n.load);

  // A thread's share of K and V in 16-byte words: V goes through four permutations for two.
  const double threads = 2.0 * s.warpgroups * kWaveLanes;
  const double key_words = s.tile_kv * 2.0 * steps_qk / threads;
  const double value_words = s.tile_kv * kernel.head_dim_v / 8.0 / threads;
  const double key_reads = steps_qk * key_blocks, value_reads = steps_kv * output_blocks;

  StepCdna2 step;
  step.matrix = kMatrixSlots * (products_qk + products_kv);
  step.special = elements * kSpecialSlots * n.special;
  // 1024 bytes a read at 128 bytes a clk, a word's writes likewise.
  step.shared_clk = 8 * (key_reads + value_reads) + 8 * (key_words + value_words);
  const double weigh = elements * (kSpecialSlots + kWeighValu) + pack;
  const double finish = step.special - elements * kSpecialSlots + elements * kFinishValu + user;
  // Words to and from LDS and memory, with a wait each; permutations.
  const double page_row = resources.page_rows ? kPageRow : 0;
  const double first = weigh + 1.5 * key_reads + 8 * value_words + (2 + page_row) * key_words;
  const double second = finish + 1.5 * value_reads + 2 * key_words + (3 + page_row) * value_words;
  const double cut = block == BlockCdna2::Full ? 0 : cut_of(kernel, elements);
  const double cut_behind = kernel.tested_mask ? cut : 0;  // limits cut beside the product
  if (kernel.rows.exponential) {
    step.alone = phase(products_qk, first) + phase(products_kv, second + cut - cut_behind) +
                 cut_behind + kLoop;
    step.valu = weigh + finish + 6 * value_words + cut + page_row * (key_words + value_words);
  } else {  // the weights stand between the two products
    const double weights = step.special + pack + (kernel.bf16 ? elements * kKeepNan : 0) + user;
    step.alone = step.matrix + weights + cut + 2 * kLoop;
    step.valu = weights + 6 * value_words + cut + page_row * (key_words + value_words);
  }
  if (key_blocks % 2 != 0) step.alone += kDependent * steps_qk;
  if (output_blocks % 2 != 0) step.alone += kDependent * steps_kv;
  if (resources.register_need > kDirectRegisters) {
    step.alone += kMoves * (products_qk + products_kv);
  }
  return step;
}

}  // namespace attngen::schedule
