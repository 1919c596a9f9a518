#include "schedule/step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "schedule/block_rows.h"
#include "schedule/resources.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

// A product of 64 rows reads 16 of their columns from shared memory, 2 KiB in 16 clk: fewer columns
// of the other operand gain nothing.
constexpr int kNarrowestProduct = 32;
constexpr int kProductDepth = 16;

// The exponential path of the template, per pair: ex2; multiply-add and sum; half a pack.
constexpr expr::OperationCounts kExponential{.special = 1, .multiply = 2, .logic = 0.5};
// The chain whose times stand in the hardware file: a maximum and a quarter LOP3 more.
constexpr expr::OperationCounts kMeasuredChain{.special = 1, .multiply = 2, .logic = 1.75};

// Of one warpgroup's scores.
double elements_of_lane(const Schedule& s) {
  return static_cast<double>(kWarpgroupRows) * s.tile_kv / kWarpgroupLanes;
}

// Clocks that 128 lanes of each operation keep its pipe: special, FMA, logic, loads.
std::array<double, 4> pipes_of(const expr::OperationCounts& n, const target::Target& t) {
  // A load takes a lane of the path to shared memory and L1, 4 bytes wide.
  const double load_lanes = t.shared_bytes_per_clk / 4;
  return {kWarpgroupLanes * n.special / t.special, kWarpgroupLanes * n.multiply / t.multiply,
          kWarpgroupLanes * n.logic / t.logic, kWarpgroupLanes * n.load / load_lanes};
}

double issue_clk(const expr::OperationCounts& n, const target::Target& t) {
  return (n.special + n.multiply + n.logic + n.load) * kWarpgroupLanes / t.warp / t.issue;
}

struct PipeTimes {
  double busiest, rest;  // the longest of the pipes, and the others together
};
PipeTimes split(const std::array<double, 4>& pipes) {
  const double busiest = *std::max_element(pipes.begin(), pipes.end());
  return {busiest, std::accumulate(pipes.begin(), pipes.end(), 0.0) - busiest};
}

// Clocks of 128 lanes through all operations. Of the other pipes' time a share is not hidden under
// the busiest pipe's: in the measured softmax chain two thirds with one warpgroup, a tenth with
// three. It shrinks as the busiest pipe outweighs the others more than there.
double chain_clk(const expr::OperationCounts& n, int warpgroups, const target::Target& t) {
  const PipeTimes measured = split(pipes_of(kMeasuredChain, t));
  const double clk = t.softmax_clk[static_cast<size_t>(std::min(warpgroups, 3) - 1)];
  const double share = std::clamp((clk - measured.busiest) / measured.rest, 0.0, 1.0);
  const PipeTimes pipes = split(pipes_of(n, t));
  const double weight =
      std::min(1.0, pipes.rest / pipes.busiest * measured.busiest / measured.rest);
  return std::max(pipes.busiest + share * weight * pipes.rest, issue_clk(n, t));
}

// One warpgroup's scores. Both operands come from shared memory: below 64 keys the queries, read
// anew for every block, take longer than the products.
double scores_clk(const Kernel& kernel, const Schedule& s, const target::Target& t) {
  const double flop = 2.0 * kWarpgroupRows * s.tile_kv * kProductDepth;
  const double bytes = 1.0 * kElement * kProductDepth * (kWarpgroupRows + s.tile_kv);
  const int products = round_up(kernel.head_dim_qk, kProductDepth) / kProductDepth;
  return products * std::max(flop / t.matrix_flop, bytes / t.shared_bytes_per_clk);
}

// One warpgroup's two products.
double matrix_clk(const Kernel& kernel, const Schedule& s, const target::Target& t) {
  const int output_columns = std::max(round_up(kernel.head_dim_v, 8), kNarrowestProduct);
  const double output_flop = 2.0 * kWarpgroupRows * s.tile_kv * output_columns;
  return scores_clk(kernel, s, t) + output_flop / t.matrix_flop;
}

// Bytes through shared memory: every warpgroup reads the operands of its products; TMA writes K and
// V once for all; weights in shared memory are written and read back.
double shared_bytes(const Kernel& kernel, const Schedule& s) {
  const double loaded = 2.0 * s.tile_kv * (kernel.head_dim_qk + kernel.loaded_columns());
  const double kv = 2.0 * s.tile_kv * (1.0 * kernel.head_dim_qk / kernel.sides + kernel.head_dim_v);
  const double other_keys = 2.0 * s.tile_kv * (kernel.maps - 1) * kernel.head_dim_qk;
  const double query = 2.0 * kWarpgroupRows * kernel.head_dim_qk / kernel.sides;
  // The bias comes by TMA, and every warpgroup reads its rows.
  const double bias = 1.0 * kernel.bias_bytes * kWarpgroupRows * s.tile_kv;
  const double weights = s.weights == Place::Shared ? 2 * 2 * kWarpgroupRows * s.tile_kv : 0;
  return loaded + other_keys + s.row_blocks() * bias + s.warpgroups * (kv + query + weights + bias);
}

// This and all constants below that say so are fitted together to the sweep of 2026-11-22 and the
// next day's point of 8192 keys, causal (tests/data/h200_sweep.json), without decay's and those
// that are held out: what the schedules of a point take over one another, those within a few
// percent of the fastest above all. Each was kept because kernels that the fit had not seen were
// predicted better with it than without. A gain from taking turns and a cost of products and
// arithmetic in order (Overlap::None), both once here, were not.
constexpr double kExposed = 0.6;
// st.shared and fence.proxy.async, 128 threads: measured 2026-11-20, H200.
constexpr double kFenceClk = 45;

// Where a warpgroup's products follow one another, nothing of its own runs beside what rescales the
// accumulator. Fitted to 24 points of the sweep that are not held out (an error of 1.64 % where it
// was 1.66, the held out 1.75 and 1.78) and to 32 variants (2026-11-23, a throw-away sweep): their
// choices are 1.010 of the fastest in the mean where they were 1.020.
constexpr double kRescaleInOrder = 2;

// Pairs a clk whose biases threads read, of two bytes or of four: nobody weighs before, and nothing
// hides it. Fitted to 44 schedules of pair_bias, in bf16 and fp32, and of broadcast_bias
// (2026-11-23, scripts/sweep_gpu.py --variants): predicted within 5 %, and 2 % relative to one
// another; as a longer chain, once here, the latter was 4 %.
constexpr double kBiasedPairs = 20;
// What each warpgroup takes longer beside each other one, for an element that a pair reads by
// itself in shared memory. Fitted to 18 schedules of SAM's and Shaw's position terms at head dim 64
// (H100, 2026-11-28, a throw-away script; 1 to 4 warpgroups, 48 to 128 keys): within 10 %.
constexpr double kSharedLoadClk = 0.026;

// Where the mask is bytes that come by tiles, a step takes each warpgroup this much longer, and
// this for each key. Fitted to 40 schedules of four such calls (H200, 2026-11-26, a throw-away
// script; 2 to 4 warpgroups, 48 to 176 keys, head dims 64 and 128): predicted within 6 %, root mean
// square; the choice is the fastest of three calls and 3 % behind it of the fourth.
constexpr double kByteStepClk = 140;
constexpr double kByteKeyClk = 0.5;

// How much of the shorter of (products, arithmetic) the longer one fails to hide. One warpgroup
// alone overlaps nothing: measured inner loops take the sum of both (128 keys, head dim 64: 1317
// clk of 512 and 755; head dim 128: 1781 of 1024 and 755). Of several, the less alike the two parts
// are, the better one hides the other; the exponents are the nearest simple ones to the fitted.
double exposed_overlap(int warpgroups, double matrix, double chain) {
  if (warpgroups == 1) return 1;
  const double ratio = std::min(matrix, chain) / std::max(matrix, chain);
  return kExposed * ratio * ratio * ratio / std::sqrt(warpgroups - 1);
}

// Per warpgroup, what nothing hides: the hand-over of a full slot of the rings, which is asked for
// ahead and takes what a barrier of the core takes (fitted alone it is 27 clk, not an mbarrier's
// 97); of weights through shared memory; products that are waited for at once. Those who take turns
// on the tensor cores wait for one another while others have them: a step is longer by one
// hand-over, however many they are.
double latency_clk(const Schedule& s, const target::Target& t) {
  double clk = t.barrier_clk;
  if (s.ping_pong) clk += t.barrier_clk / s.warpgroups;
  if (s.weights == Place::Shared) clk += kFenceClk / s.warpgroups;
  if (s.overlap == Overlap::None) clk += 2 * t.matrix_latency_clk / s.warpgroups;
  return clk;
}

// What of a warp's step serves no pair: waits, ring places, votes. Alone on its scheduler a warp
// issues a dependent one every 6 clk. Fitted; it was 700, for 115 instructions, before descriptors
// were kept over the loop and barriers were asked for ahead.
constexpr double kLoopClk = 400;
// Its products wait behind those of others, for this share of them. Fitted.
constexpr double kQueued = 0.55;

// How long a block's weights wait for what their rows make of it: a maximum over four threads, a
// factor. Fitted to 52 schedules of a gate of each key, an entropy and softpick (H200, 2026-11-28,
// a throw-away script; head dims 64 and 128): 0.89 to 1.02 of each call's times in the mean, 0.87
// to 0.99 without.
constexpr double kRowsClk = 150;

// The shortest time in which one warpgroup comes round: its S, its weights, and the way back to its
// next S follow one another, whatever the others do; only PV runs beside, if that. Two warpgroups
// with small steps are bound by it (128x64 at head dim 128 takes 1395 clk a step of 1024 clk of
// products; sweep of 2026-11-21).
double serial_clk(const Kernel& kernel, const Schedule& s, const expr::OperationCounts& n,
                  const target::Target& t) {
  const double products = matrix_clk(kernel, s, t);
  const double waited =
      s.overlap == Overlap::None ? products : scores_clk(kernel, s, t) + t.matrix_latency_clk;
  const bool follows_rows = !kernel.rows.exponential && !kernel.rows.row_free();
  return latency_clk(s, t) + kQueued * (s.warpgroups - 1) * products + waited +
         elements_of_lane(s) * chain_clk(n, 1, t) + kLoopClk + (follows_rows ? kRowsClk : 0);
}

// Of two sides, which weigh by turns: a block's S, its weights, and the PV of both, which have the
// tensor cores together, follow one another; the next S waits for the block before to leave its
// slot.
double turn_clk(const Kernel& kernel, const Schedule& s, const expr::OperationCounts& n,
                const target::Target& t) {
  const double scores = scores_clk(kernel, s, t);
  const double outputs = s.warpgroups * (matrix_clk(kernel, s, t) - scores);
  return latency_clk(s, t) + scores + t.matrix_latency_clk +
         elements_of_lane(s) * chain_clk(n, 1, t) + outputs + kLoopClk;
}

// A copy of what of a page belongs to a tile, 64 columns of it, by TMA: one after the other. Of
// pages of 8 keys, which came so then, and which it bound (H200, 2026-11-29, the ladder's run AN);
// of two sides, whose rows have nine such copies, it is less.
constexpr double kCopyClk = 85, kCopyOfSidesClk = 45;

// What a core takes for 32 lanes' copies of rows, four rows of as many columns, whoever copies.
// Fitted to chunks and next tokens over pages of one key (H200, 2026-11-30, run AO): of the times
// of run AP 0.80 to 1.23 are predicted, of packed keys up to 1.28.
constexpr double kCopyOfRowsClk = 18;

// Of all copies of a step that one warp asks for, or, of rows, both.
double copies_clk(const Kernel& kernel, const Schedule& s) {
  constexpr int kColumns = 64, kRowsOfCopy = 4;
  const auto chunks = [](int columns) { return (columns + kColumns - 1) / kColumns; };
  const int keys = kernel.maps * chunks(kernel.head_dim_qk),
            values = chunks(kernel.loaded_columns());
  if (copies_rows(kernel, s)) return kCopyOfRowsClk * s.tile_kv / kRowsOfCopy * (keys + values);
  return (kernel.sides > 1 ? kCopyOfSidesClk : kCopyClk) *
         page_copies(s, kernel.page, kernel.block_size) *
         (has_values_apart(kernel, s) ? std::max(keys, values) : keys + values);
}

// Of a softmax. Where bytes that come by tiles are the mask, no block is whole, and all are tried.
bool keeps_max(const Kernel& kernel, Block block) {
  const bool tries =
      block == Block::Full || block == Block::Near || kernel.mask_tile || kernel.mask_bits;
  return kernel.rows.exponential && kernel.fixed_max && block != Block::First && tries;
}

}  // namespace

expr::OperationCounts operations(const Kernel& kernel, Block block, int tile_kv) {
  expr::OperationCounts n;
  if (kernel.rows.exponential) {
    n = kExponential;
    if (!keeps_max(kernel, block)) n.logic += 1;  // the maximum
    n += block == Block::Near ? kernel.near : kernel.score;
  } else if (block == Block::Near) {
    n = kernel.near + expr::OperationCounts{.logic = 0.5};
  } else {
    n = kernel.weight + kernel.score + expr::OperationCounts{.logic = 0.5};
  }
  if (!kernel.divided.fit(tile_kv)) n += kernel.divided.beyond;
  n.load += kernel.scattered;
  if (block == Block::Partial) {
    n += kernel.mask;
    n.load += kernel.mask_scattered;
  }
  // Beyond the user's mask, every cut block tests the end of the keys.
  if (block == Block::Partial && !kernel.mask_tile && !kernel.mask_bits) n.logic += 1;
  return n;
}

namespace {

// All warpgroups that share the core have the block to do.
Step full_step(const Kernel& kernel, const Schedule& s, const target::Target& t, Block block) {
  const expr::OperationCounts n = operations(kernel, block, s.tile_kv);
  // Over all warpgroups that share the core.
  const double elements = s.warpgroups * elements_of_lane(s) / kernel.sides;
  const std::array<double, 4> pipes = pipes_of(n, t);
  Step step;
  step.matrix = s.warpgroups * matrix_clk(kernel, s, t);
  if (kernel.sides > 1) step.matrix -= s.row_blocks() * scores_clk(kernel, s, t);
  step.special = elements * pipes[0];
  step.arithmetic = elements * std::max({pipes[1], pipes[2], issue_clk(n, t)});
  step.chain = elements * chain_clk(n, s.warpgroups, t);
  // A warpgroup stores its weights before it can multiply by them.
  if (s.weights == Place::Shared) {
    step.chain += 2 * kWarpgroupRows * s.tile_kv * s.warpgroups / t.shared_bytes_per_clk;
  }
  step.shared = shared_bytes(kernel, s) / t.shared_bytes_per_clk;
  if (!kernel.rows.row_free() && !keeps_max(kernel, block)) {
    step.rescale = s.warpgroups * kWarpgroupRows * kernel.head_dim_v / t.multiply;
    if (s.overlap == Overlap::None) step.rescale *= kRescaleInOrder;
  }
  const double longer = std::max(step.matrix, step.chain);
  const double shorter = std::min(step.matrix, step.chain);
  const double overlapped =
      longer + exposed_overlap(s.warpgroups, step.matrix, step.chain) * shorter;
  step.length = std::max(overlapped, step.shared) + step.rescale + s.warpgroups * latency_clk(s, t);
  step.length = std::max(
      step.length, kernel.sides > 1 ? turn_clk(kernel, s, n, t) : serial_clk(kernel, s, n, t));
  if (kernel.mask_tile) {
    step.length += s.warpgroups * (kByteStepClk + kByteKeyClk * s.tile_kv);
  } else if (kernel.bias_bytes > 0 && !kernel.bias_shifted) {
    step.length += s.warpgroups * kWarpgroupRows * s.tile_kv / kBiasedPairs;
  }
  const double shared_loads = kWarpgroupRows * s.tile_kv * kernel.shared_loads;
  step.length += s.warpgroups * (s.warpgroups - 1) * shared_loads * kSharedLoadClk;
  // Where copies take nearly as long as all else, slots that they fill late add up: by one warp,
  // 128x128 and pages of 16 keys took 1.33 of the time of keys side by side, pages of 64 1.01.
  if (kernel.page > 0) {
    step.length = std::cbrt(std::pow(step.length, 3) + std::pow(copies_clk(kernel, s), 3));
  }
  return step;
}

// How many have a row that keeps a block, where `keeping` of the tile's rows of blocks do: of three
// warpgroups of one row each as many; of 12 rows, 4 each, 3 leave one without.
int warpgroups_that_keep(const Schedule& s, int keeping, int rows) {
  if (rows <= s.warpgroups) return std::max(1, s.warpgroups * keeping / rows);
  const double passes = std::pow(1 - static_cast<double>(keeping) / rows, rows / s.warpgroups);
  return std::max(1, static_cast<int>(std::lround(s.warpgroups * (1 - passes))));
}

// Of a tile in several rows of blocks: a step is for those of its parts that keep the block of
// keys, and none if nobody does. In units of blocks that one part keeps.
Step sparse_step(const Kernel& kernel, const Schedule& s, const target::Target& t, Block block) {
  const int parts = block_rows(kernel, s);
  const double kept = kernel.kept_blocks;
  const std::vector<double> chances = chances_of_keepers(parts, kept, kept_again(kernel));
  Step mean;
  for (int keeping = 1; keeping <= parts; ++keeping) {
    Schedule active = s;
    active.warpgroups = warpgroups_that_keep(s, keeping, parts);
    const Step step = full_step(kernel, active, t, block);
    const double share = chances[static_cast<size_t>(keeping)] / kept;
    mean.matrix += share * step.matrix;
    mean.special += share * step.special;
    mean.arithmetic += share * step.arithmetic;
    mean.chain += share * step.chain;
    mean.shared += share * step.shared;
    mean.rescale += share * step.rescale;
    mean.length += share * step.length;
  }
  return mean;
}

// Two warpgroups that take no turns may begin side by side, and stay so: S of both and half of PV,
// then the weights of both while the tensor cores idle.
bool may_weigh_at_once(const Kernel& kernel, const Schedule& s) {
  return s.warpgroups == 2 && kernel.maps == 1 && !s.ping_pong;
}

// By how much longer `step` takes then. Of calls of one tile a core, 128x128 (H100, 2026-11-27, a
// throw-away script): a slow tile has 2930 clk a step at head dim 128 and some 2540 at 96, the
// others 2250 and 2050; slow were 2 to 42 of 256 warpgroups. This says 3046 and 2662.
double in_phase_clk(const Kernel& kernel, const Schedule& s, const target::Target& t, Block block,
                    const Step& step) {
  const double weights =
      s.warpgroups * elements_of_lane(s) * chain_clk(operations(kernel, block, s.tile_kv), 1, t);
  return std::max(0.0, 0.75 * step.matrix + weights - step.length);
}

// What the loop over far keys takes beyond its products, with two warpgroups: two products of each
// are on their way, and the sums of others run beside. Measured at 16384 keys (H200, 2026-11-22):
// 0.19 with three warpgroups at head dim 128, 0.16 with four at 64. With two 0.20; they are charged
// more, since the rest of their tiles is predicted too short: 128x64 takes 1 % longer than 192x64.
constexpr double kFarExposed = 0.4;

Step far_step(const Kernel& kernel, const Schedule& s, const target::Target& t) {
  Step step;
  step.matrix =
      s.warpgroups * 2.0 * kWarpgroupRows * s.tile_kv * kernel.head_dim_qk / t.matrix_flop;
  step.arithmetic = s.warpgroups * elements_of_lane(s) * issue_clk({.multiply = 1}, t);
  step.chain = step.arithmetic;
  step.length = step.matrix * (1 + kFarExposed / std::max(1, s.warpgroups - 1));
  return step;
}

}  // namespace

double copied_bias_clk(const Kernel& kernel, const Schedule& s) {
  constexpr double kRowClk = 6, kRowClkBesideScout = 10, kLateClk = 350;
  const double late = s.stages < 3 ? kLateClk : 0;
  return s.tile_q() * (kernel.has_scout() ? kRowClkBesideScout : kRowClk) + late;
}

Step step_of(const Kernel& kernel, const Schedule& s, const target::Target& t, Block block,
             int blocks) {
  if (block == Block::Far) return far_step(kernel, s, t);
  if (block_rows(kernel, s) > 1) return sparse_step(kernel, s, t, block);
  Schedule together = s;
  together.warpgroups *= blocks;
  Step step = full_step(kernel, together, t, block);
  if (may_weigh_at_once(kernel, s) && blocks == 1) {
    step.in_phase = in_phase_clk(kernel, s, t, block, step);
  }
  return step;
}

}  // namespace attngen::schedule
