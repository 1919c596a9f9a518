// Ends of floats over a block.
#include <algorithm>
#include <array>
#include <cmath>

#include "attention/block_bounds.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

// Whether it reads elements that differ within a block; of others the ends tell as much.
bool BlockBounds::loads(const Expr& e) {
  if (!varies(e)) return false;
  if (const bool* known = loads_.find(e)) return *known;
  const auto& operands = e.operands();
  const bool any =
      e.op() == Op::Load || std::any_of(operands.begin(), operands.end(),
                                        [this](const Expr& operand) { return loads(operand); });
  return loads_.keep(e, any);
}

// By the operations that a pair takes, on ends: rounding keeps their order. Where a pair has a NaN,
// each end is one or infinite: so the lower one of `abs` may be below 0, and what is multiplied by
// 0 has none.
std::optional<Ends> BlockBounds::ends_of_float(const Expr& e) {
  if (!varies(e)) return Ends{e, e};
  if (const auto* known = ends_.find(e)) return *known;
  return ends_.keep(e, ends_of_varying_float(e));
}

std::optional<Ends> BlockBounds::ends_of_varying_float(const Expr& e) {
  if (loads(e)) {
    if (const auto table = find_table(e, tables_)) {
      return Ends{least_of(*table, tables_), greatest_of(*table, tables_)};
    }
  }
  if (e.op() == Op::ToFloat) {
    const auto x = ends(e.operand(0));
    return x ? std::optional(rising(e, *x)) : std::nullopt;
  }
  switch (e.op()) {
    case Op::Negate: {
      const auto x = ends_of_float(e.operand(0));
      return x ? std::optional(falling(e, *x)) : std::nullopt;
    }
    case Op::Floor: {
      const auto x = ends_of_float(e.operand(0));
      return x ? std::optional(rising(e, *x)) : std::nullopt;
    }
    case Op::Abs: {
      const auto x = ends_of_float(e.operand(0));
      if (!x) return std::nullopt;
      const Expr below = expr::make(Op::Negate, {x->high});
      const Expr above = expr::make(Op::Negate, {x->low});
      return Ends{expr::make(Op::Max, {x->low, below}), expr::make(Op::Max, {x->high, above})};
    }
    case Op::Add:
    case Op::Subtract:
      return ends_of_float_sum(e);
    case Op::Multiply:
    case Op::Divide:
    case Op::FloorDivide:
      return ends_of_float_product(e);
    default:
      return ends_of_float_function(e);
  }
}

std::optional<Ends> BlockBounds::ends_of_float_sum(const Expr& e) {
  const auto x = ends_of_float(e.operand(0));
  const auto y = ends_of_float(e.operand(1));
  if (!x || !y) return std::nullopt;
  const bool falls = e.op() == Op::Subtract;
  return Ends{expr::make(e.op(), {x->low, falls ? y->high : y->low}),
              expr::make(e.op(), {x->high, falls ? y->low : y->high})};
}

// By a number; of a factor that is none, which is the same for the block, the sign decides. By 0 an
// infinite element would be a NaN between ends that are none. What is multiplied by itself is a
// square. Of two factors that differ within a block both must be surely no less than 0.
std::optional<Ends> BlockBounds::ends_of_float_product(const Expr& e) {
  const bool multiplies = e.op() == Op::Multiply;
  const size_t varying = multiplies && !varies(e.operand(0)) ? 1 : 0;
  const Expr& factor = e.operand(1 - varying);
  const auto x = ends_of_float(e.operand(varying));
  if (!x) return std::nullopt;
  if (multiplies && expr::same(e.operand(0), e.operand(1))) return ends_of_square(*x);
  if (varies(factor)) {
    const auto y = multiplies && are_positive(e) ? ends_of_float(factor) : std::nullopt;
    if (!y) return std::nullopt;
    const std::array operands{*x, *y};
    return where_finite(product_of_positive(*x, *y), operands);
  }
  const Ends up = rising(e, *x, varying), down = falling(e, *x, varying);
  if (factor.is_number()) {
    if (factor.number() == 0 || !std::isfinite(factor.number())) return std::nullopt;
    return factor.number() < 0 ? down : up;
  }
  if (!multiplies) return std::nullopt;
  const Expr zero = expr::number(0);
  const auto by_sign = [&](const Expr& rises, const Expr& falls, double unknown) {
    const Expr rest = expr::make(
        Op::Select, {expr::make(Op::Less, {factor, zero}), falls, expr::number(unknown)});
    return expr::make(Op::Select, {expr::make(Op::Greater, {factor, zero}), rises, rest});
  };
  return Ends{by_sign(up.low, down.low, -expr::kInfinity),
              by_sign(up.high, down.high, expr::kInfinity)};
}

std::optional<Ends> BlockBounds::ends_of_float_function(const Expr& e) {
  std::vector<Ends> operands;
  for (const Expr& operand : e.operands()) {
    if (operand.type() != expr::Type::Float) return std::nullopt;
    const auto x = ends_of_float(operand);
    if (!x) return std::nullopt;
    operands.push_back(*x);
  }
  if (operands.empty()) return std::nullopt;
  const Ends& x = operands[0];
  if (is_rising_function(e.op())) return ends_of_function(e.op(), x);
  switch (e.op()) {
    case Op::Square:
      return ends_of_square(x);
    case Op::Relu:
    case Op::Sign:
      return where_finite(rising(e, x), operands);
    case Op::Min:
    case Op::Max: {
      const Ends& y = operands[1];
      return where_finite(
          {expr::make(e.op(), {x.low, y.low}), expr::make(e.op(), {x.high, y.high})}, operands);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace attngen::attention
