#include "schedule/register_need.h"

#include <algorithm>

#include "attention/far_form.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

// Beyond counts of pairs.
int sums_of(const Kernel& kernel) {
  return static_cast<int>(
      std::ranges::count_if(kernel.rows.reductions, [](const attention::Reduction& reduction) {
        return reduction.kind == attention::Reduction::Kind::Sum && !reduction.element.is_number();
      }));
}

// What a mask that is tested pair by pair keeps at hand.
int mask_margin(const Kernel& kernel, const Schedule& s) {
  const bool exponential = kernel.rows.exponential;
  // Of 493 kernels whose mask comes as bits, at the edge (2026-11-26, a throw-away script), 56
  // spilled without these. Nine do with them, up to 32 bytes.
  if (kernel.mask_bits) {
    if (exponential) {
      const bool light = kernel.plain_score || kernel.has_near;
      return light ? 0 : 8 + std::max(0, s.tile_kv - 128) / 4;
    }
    if (!kernel.rows.row_free()) return 8 + s.tile_kv / 8;
    return sums_of(kernel) > 0 ? 4 + s.tile_kv / 4 : 4;
  }
  // Bytes in shared memory leave nothing to keep. 408 kernels (2026-11-26, a throw-away script), of
  // which 133 spill: those that fit do not.
  if (kernel.mask_tile) return exponential ? 0 : 4;
  if (!kernel.tested_mask) return 0;
  int registers = exponential ? s.tile_kv / 3 : s.tile_kv / 2 - 4;
  registers += static_cast<int>(16 * kernel.mask.load);
  // Fitted to 191 kernels at the edge and beyond, of which 101 spill (2026-11-25, a throw-away
  // script).
  if (exponential && kernel.mask_bytes) registers += s.tile_kv / 3 + 1;
  // Of 155 kernels of such masks at the edge (2026-11-27, a throw-away script) 35 spilled without
  // these, up to 48 bytes; of 193 with them ten do, up to 12.
  if (exponential && kernel.mask_asks_twice) registers += s.tile_kv / 8 + 2;
  if (!exponential || s.overlap == Overlap::IntraWarpgroup) {
    registers += std::max(0, s.tile_kv - 128) / 3;
  }
  return registers;
}

// A score beyond a multiply-add that reads no memory: little more than its own intermediates.
bool has_light_score(const Kernel& kernel, const Schedule& s) {
  return kernel.rows.exponential && s.weights == Place::Registers && kernel.key_loads == 0;
}

// Weights that follow rows of their own: the compiler takes a block's two rows side by side, and
// wide ones beyond what fits. Of 562 kernels of five such normalisers at the edge, 121 spilled
// without these, up to 368 bytes (2026-11-28, a throw-away script); of the 379 that fit with them
// 21 do, up to 104.
int rows_margin(const Kernel& kernel, const Schedule& s) {
  if (kernel.rows.exponential || kernel.rows.row_free()) return 0;
  const int wide = std::max(0, s.tile_kv - 128);
  const bool several = sums_of(kernel) > 1;
  return 8 + (several ? s.tile_kv / 8 : 0) +
         (several || !kernel.plain_score ? wide * 3 / 4 : wide / 4);
}

int score_margin(const Kernel& kernel, const Schedule& s) {
  const bool shared = s.weights == Place::Shared && kernel.sides == 1;
  const bool exponential = kernel.rows.exponential;
  const bool light_score = has_light_score(kernel, s);
  int registers = 0;
  if (!kernel.rows.row_free()) {
    if (!kernel.plain_score || !exponential) registers += shared ? 32 : light_score ? 0 : 16;
  }
  if (!kernel.plain_score && light_score) registers += s.tile_kv / 16 - 3;
  // Fitted to 56 kernels at the edge (2026-11-22): biases and keys' elements on their way. Of those
  // that warps copy addresses too: fitted to 30 kernels, seven of which spill (2026-11-28).
  if (kernel.bias_bytes > 0) {
    const int on_their_way = 8 + std::max(0, s.tile_kv - 64) / 5;
    registers += kernel.bias_shifted ? std::max(22, on_their_way) : on_their_way;
  }
  if (kernel.key_strips > 0 || kernel.distance_strip) registers += 8;
  if (kernel.strip_heads > 1) registers += kernel.key_strips * kernel.strip_heads * s.tile_kv / 128;
  if (kernel.key_rows > 0) {
    registers += 12 * kernel.key_rows + s.tile_kv / (exponential ? 16 : 8);
  }
  // The compiler prepares the keys' indices of a block ahead, one for two rows of two columns.
  if (kernel.indexed_score) registers += 4 + s.tile_kv / 4;
  // These two are fitted to 560 kernels of random specs with given schedules, at the edge and
  // beyond: 204 of them spill (2026-11-23, a throw-away script).
  return registers + kernel.row_constants + kernel.row_load_registers +
         (16 + s.tile_kv / 4) * kernel.key_loads;
}

// Of 272 kernels of two maps (2026-11-22, fourteen kinds of spec) six spilled without this.
int maps_margin(const Kernel& kernel, const Schedule& s) {
  if (kernel.maps == 1) return 0;
  if (!kernel.rows.exponential) return 16;
  if (s.weights == Place::Shared) return 4;
  return kernel.tested_mask && s.overlap == Overlap::None ? 8 : 0;
}

// The first and the last key of a row.
int limits_margin(const Kernel& kernel, const Schedule& s) {
  if (kernel.range.always_full || kernel.rows.exponential) return 0;
  if (!kernel.range.begin.is_number(0)) return std::max(6, s.tile_kv / 16);
  // Weights that a multiply or two make of the product keep nothing but a row's last key, up to
  // 128 keys (92 kernels of ReLU and polynomials, 2026-11-22).
  const bool light_weight = kernel.rows.row_free() && kernel.weight.special == 0 &&
                            kernel.row_constants + kernel.key_loads == 0 && s.tile_kv <= 128;
  return light_weight ? 0 : 6;
}

// The way back from small weights, fitted to 30 kernels (2026-11-22).
int reciprocals_margin(const Kernel& kernel, const Schedule& s) {
  if (!kernel.shares_reciprocals) return 0;
  const bool wide = s.overlap == Overlap::IntraWarpgroup && s.tile_kv >= 64;
  return wide ? (s.tile_kv - 85) / 3 : s.tile_kv / 8;
}

// The way back from a maximum that proves too low: the block's scores once more.
int fixed_max_margin(const Kernel& kernel, const Schedule& s) {
  int registers = 4;
  if (s.weights == Place::Shared && kernel.sides == 1) registers += 16;
  if (kernel.head_dim_qk % 64 != 0 || kernel.head_dim_v % 64 != 0) registers += 12;
  if (kernel.head_dim_qk >= 256) registers += 4;
  const bool light_score = has_light_score(kernel, s);
  if (!kernel.plain_score && (kernel.indexed_score || !light_score)) {
    registers += kernel.indexed_score && !light_score ? 28 : 12;
  }
  return registers;
}

// Registers of a consumer thread beyond its fragments: addresses, row state, loop, and what the
// user's functions keep at hand. Fitted to what ptxas 13.0 made of 945 emitted kernels (2026-11-21;
// all head dims, one to four warpgroups, nine kinds of spec) and of 413 (2026-11-22; all shipped
// specs at the edge of what fits): what fits here compiled without a spill or a serialised product
// in every one of them. A change of the templates moves that edge by a few registers: of the
// kernels of the GPU cases four spill since, up to 20 bytes.
int margin(const Kernel& kernel, const Schedule& s, bool fixed_max) {
  int registers = 24 + (s.weights == Place::Shared ? 4 : s.tile_kv / 16);
  registers += score_margin(kernel, s) + rows_margin(kernel, s) + maps_margin(kernel, s) +
               mask_margin(kernel, s) + limits_margin(kernel, s) + reciprocals_margin(kernel, s);
  const bool wide = kernel.head_dim_qk > 128 && s.warpgroups == 2 && kernel.sides == 1;
  if (wide && !kernel.rows.row_free()) registers += 12;
  return registers + (fixed_max ? fixed_max_margin(kernel, s) : 0);
}

}  // namespace

// A thread holds 1/128 of a fragment of 64 rows.
int register_need(const Kernel& kernel, const Schedule& s, bool fixed_max) {
  const auto fragment = [](int columns) { return kWarpgroupRows * columns / kWarpgroupLanes; };
  int need = margin(kernel, s, fixed_max) + fragment(s.tile_kv) +
             fragment((kernel.head_dim_v + 7) / 8 * 8);
  // The next block's scores and this block's packed weights live together.
  if (s.weights == Place::Registers && s.overlap == Overlap::IntraWarpgroup) {
    need += fragment(s.tile_kv) / 2;
  }
  return need;
}

// Beside the queries live two blocks of scores while keys are far, then the accumulator alone.
int register_need_of_far_keys(const Kernel& kernel, const Schedule& s) {
  constexpr int kMargin = 28;  // of six kernels that compiled without a spill (2026-11-22)
  // Of 288 kernels of packed sequences (2026-11-30, a throw-away script) all four of head dim 128
  // and three warpgroups that sum absolute values spilled and serialised products without this.
  const bool sums = attention::sums_products(kernel.rows);
  const int packed = kernel.varlen && sums && s.warpgroups > 2 ? 32 : 0;
  return kMargin + packed +
         (std::max(2 * s.tile_kv, kernel.head_dim_v) + kernel.head_dim_qk / 2) * kWarpgroupRows /
             kWarpgroupLanes;
}

}  // namespace attngen::schedule
