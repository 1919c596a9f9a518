// Cheaper forms of what a pair costs, right where nearly all pairs are. A kernel that computes a
// block of keys by one can tell afterwards whether a pair was elsewhere: then the block is computed
// again. Errors stay below a bf16's rounding, so that only bf16 kernels take them.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace attngen::attention {

// unit * tanh(factor * product), a soft cap: two multiply-adds and a square in the place of a
// multiply-add and the special function unit. With p = 2^-query_shift * product, of queries that
// are scaled so, and s = min(p^2, 1), it is
//   p * (linear + cubic * s).
// Beyond s = 1 the slope stays, so that what should be larger than `highest` is larger.
struct NearCap {
  int query_shift = 0;  // >= 0
  double linear = 0, cubic = 0;
  double highest = 0;  // up to this value it is right to 2^-8
};
// It serves rows with a maximum in use, as an exponent of two, of 0 to highest - kNearCapRoom. Then
// what it gets wrong weighs less than 2^-highest, or more than 2^kNearCapRoom: sums of weights
// tell.
inline constexpr int kNearCapRoom = 8;

// For unit, factor > 0. Nothing if the range is too small for scores of unit variance.
std::optional<NearCap> near_cap(double unit, double factor);

// 1 / (1 + 2^x), a sigmoid whose weights are small as those with a bias of -log(seq_kv) are:
//   factor * (power - power^2),   power = 2^exponent,
// right to 2^-10 of its size while power < highest. One special function instead of one and a half,
// and one multiply-add, since the factor is left to the output.
struct NearLogistic {
  expr::Expr exponent;
  double factor = 1;
  double highest = 0;
};
// Nothing if scores of unit variance alone make larger weights.
std::optional<NearLogistic> near_logistic(const expr::Expr& x);

}  // namespace attngen::attention
