#include "attention/near_form.h"

#include <cmath>
#include <numbers>

namespace attngen::attention {
namespace {

// What the scores of a block reach if their variance is 1, as an exponent of two: three in a
// hundred of a warp's blocks, 16 rows of 64 keys, have one beyond 4.
constexpr double kUsual = 4 * std::numbers::log2e;

// The cubic next to tanh(x) for |x| <= b: its series to the seventh power, the last two powers by
// the Chebyshev polynomials next to them.
struct Cubic {
  double linear, cubic, error;
};
Cubic cubic_within(double b) {
  const double b2 = b * b, b4 = b2 * b2;
  constexpr double kSeventh = -17.0 / 315;
  // x^7 ~ 7/4 b^2 x^5 - 7/8 b^4 x^3 + 7/64 b^6 x
  const double fifth = 2.0 / 15 + kSeventh * 7 / 4 * b2;
  // x^5 ~ 5/4 b^2 x^3 - 5/16 b^4 x, within b^5 / 16
  return {1 + kSeventh * 7 / 64 * b4 * b2 - fifth * 5 / 16 * b4,
          -1.0 / 3 - kSeventh * 7 / 8 * b4 + fifth * 5 / 4 * b2, fifth * b4 * b / 16};
}

}  // namespace

std::optional<NearCap> near_cap(double unit, double factor) {
  // The widest range that is right to 2^-8. Up to 1 the cubic rises, and twice the range is below.
  constexpr double kHigherPowers = 1.05;  // what the series' powers beyond the seventh add
  double b = 0.5;
  while (b > 0 && unit * cubic_within(b).error * kHigherPowers > 1.0 / 256) b -= 1.0 / 64;
  if (b <= 0) return std::nullopt;
  const Cubic cubic = cubic_within(b);
  NearCap near;
  near.highest = unit * b * (cubic.linear + cubic.cubic * b * b);
  if (near.highest < kUsual + kNearCapRoom) return std::nullopt;
  double bend = factor;  // the tanh's argument for which p is 1: the first beyond b
  for (; bend < b; bend *= 2) ++near.query_shift;
  if (bend >= 2 * b || near.query_shift > 60) return std::nullopt;
  near.linear = unit * cubic.linear * bend;
  near.cubic = unit * cubic.cubic * bend * bend * bend;
  return near;
}

std::optional<NearLogistic> near_logistic(const expr::Expr& x) {
  using expr::Op;
  // e / (1 + e) ~ e (a + c e) for e <= b, where a = 1 + d and (a + c e)(1 + e) - 1 is the Chebyshev
  // polynomial d T2 of that range: 1 + d + 8 d / b^2 = -8 d / b. Up to 0.09 it is right to 2^-10.
  // With power = -c / a e it is a^2 / -c (power - power^2).
  constexpr double b = 0.09;
  constexpr double d = -1 / (1 + 8 / (b * b) + 8 / b);  // -2^-10.07
  constexpr double a = 1 + d, c = 8 * d / (b * b);
  const double shift = std::log2(-c / a);
  if (x.op() != Op::Add) return std::nullopt;
  for (const size_t i : {0u, 1u}) {
    const expr::Expr& bias = x.operand(i);
    if (bias.is_number() && -bias.number() + kUsual > std::log2(b)) return std::nullopt;
  }
  NearLogistic near;
  near.factor = a * a / -c;
  near.highest = -c / a * b;
  // Of slope * varying + constant the constants come together, once a row.
  const expr::Expr &varying = x.operand(0), &rest = x.operand(1);
  const expr::Expr last = expr::make(Op::Subtract, {expr::number(shift), rest});
  if (varying.op() == Op::Multiply && varying.operand(1).is_number()) {
    const expr::Expr slope = expr::number(-varying.operand(1).number());
    near.exponent =
        expr::make(Op::Add, {expr::make(Op::Multiply, {varying.operand(0), slope}), last});
  } else {
    near.exponent = expr::make(Op::Subtract, {last, varying});
  }
  return near;
}

}  // namespace attngen::attention
