#include "expr/bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "expr/interval.h"
#include "expr/scalar.h"

namespace attngen::expr {
namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

Interval truth(bool may_be_false, bool may_be_true) {
  return {may_be_false ? 0.0 : 1.0, may_be_true ? 1.0 : 0.0, false};
}

// A comparison with a NaN is false.
Interval bound_less(const Interval& a, const Interval& b, bool or_equal) {
  const bool nan = a.may_be_nan || b.may_be_nan;
  const bool always = or_equal ? a.high <= b.low : a.high < b.low;
  const bool never = or_equal ? a.low > b.high : a.low >= b.high;
  return truth(nan || !always, !never);
}

Interval bound_equal(const Interval& a, const Interval& b) {
  const bool always = is_point(a) && is_point(b) && a.low == b.low;
  const bool never = a.high < b.low || b.high < a.low;
  return truth(!always, !never);
}

Interval bound_not(const Interval& a) { return {1 - a.high, 1 - a.low, false}; }

// Min; Max is by negation. A number is preferred to a NaN.
Interval bound_min(const Interval& a, const Interval& b) {
  Interval result{std::min(a.low, b.low), std::min(a.high, b.high), a.may_be_nan && b.may_be_nan};
  if (a.may_be_nan) {
    result.high = std::max(result.high, b.high);
  }
  if (b.may_be_nan) {
    result.high = std::max(result.high, a.high);
  }
  return result;
}

Interval bound_max(const Interval& a, const Interval& b) {
  return negate(bound_min(negate(a), negate(b)));
}

Interval bound_abs(const Interval& x) {
  const double largest = std::max(std::fabs(x.low), std::fabs(x.high));
  const double smallest = has_zero(x) ? 0 : std::min(std::fabs(x.low), std::fabs(x.high));
  return {smallest, largest, x.may_be_nan};
}

double sign(double x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); }

// Of a NaN it is 0.
Interval bound_sign(const Interval& x) {
  const Interval result{sign(x.low), sign(x.high), false};
  return x.may_be_nan ? hull(result, {0, 0, false}) : result;
}

// What is beyond 32 bits becomes the nearest that is not, a NaN 0.
Interval bound_int(const Interval& x) {
  const double low = apply(Op::ToInt, Type::Int, x.low, 0, 0);
  const double high = apply(Op::ToInt, Type::Int, x.high, 0, 0);
  return x.may_be_nan ? hull({low, high, false}, {0, 0, false}) : Interval{low, high, false};
}

// A row may be empty, or have any number of pairs.
Interval bound_row_max(const Interval& x) { return {-kInfinity, x.high, x.may_be_nan}; }
Interval bound_row_sum(const Interval& x) {
  return {x.low < 0 ? -kInfinity : 0, x.high > 0 ? kInfinity : 0,
          x.may_be_nan || (x.low == -kInfinity && x.high == kInfinity)};
}

Interval bound_select(const Interval& condition, const Interval& a, const Interval& b) {
  if (condition.is_true()) return a;
  return condition.is_false() ? b : hull(a, b);
}

Interval bound_arithmetic(const Expr& e, const Interval& a, const Interval& b) {
  const bool exact = e.type() == Type::Int;
  const int ulps = exact ? 0 : 1;
  switch (e.op()) {
    case Op::Add:
      return widened(add(a, b), ulps);
    case Op::Subtract:
      return widened(add(a, negate(b)), ulps);
    case Op::Multiply: {
      const Interval product = multiply(a, b);
      return product.low == 0 && product.high == 0 ? product : widened(product, ulps);
    }
    case Op::Divide:
      return widened(divide(a, b), ulps);
    case Op::FloorDivide: {
      if (exact) {
        return integer_divide(a, b);
      }
      const Interval quotient = divide(a, b);
      return {std::floor(quotient.low), std::floor(quotient.high), quotient.may_be_nan};
    }
    case Op::Modulo:
      return exact ? integer_modulo(a, b) : widened(float_modulo(a, b), ulps);
    default:
      return widened(power(a, b), 4);
  }
}

Interval bound_unary(const Expr& e, const Interval& x) {
  switch (e.op()) {
    case Op::Negate:
      return negate(x);
    case Op::ToFloat:
      return x;
    case Op::Abs:
      return bound_abs(x);
    case Op::Relu:
      return bound_max(x, {0, 0, false});
    case Op::Square: {
      Interval result = widened(square(x), e.type() == Type::Int ? 0 : 1);
      result.low = std::max(result.low, 0.0);
      return result;
    }
    case Op::Floor:
      return {std::floor(x.low), std::floor(x.high), x.may_be_nan};
    case Op::ToInt:
      return bound_int(x);
    case Op::Sign:
      return bound_sign(x);
    case Op::Saturate:
      return {std::clamp(x.low, -0x1p31, 0x1p31 - 1), std::clamp(x.high, -0x1p31, 0x1p31 - 1),
              x.may_be_nan};
    case Op::RowMax:
      return bound_row_max(x);
    case Op::RowSum:
      return bound_row_sum(x);
    default:
      return bound_function(e.op(), x);
  }
}

Interval bound_node(const Expr& e, const Interval& a, const Interval& b, const Interval& c,
                    const Bounds& bounds) {
  switch (e.op()) {
    case Op::Number:
      return std::isnan(e.number()) ? Interval{-kInfinity, kInfinity, true}
                                    : Interval{e.number(), e.number(), false};
    case Op::Variable:
      return bounds.variable ? bounds.variable(e.name()) : Interval{};
    case Op::Load:
      return bounds.input ? bounds.input(e.name()) : Interval{};
    case Op::Less:
      return bound_less(a, b, false);
    case Op::LessEqual:
      return bound_less(a, b, true);
    case Op::Greater:
      return bound_less(b, a, false);
    case Op::GreaterEqual:
      return bound_less(b, a, true);
    case Op::Equal:
      return bound_equal(a, b);
    case Op::NotEqual:
      return bound_not(bound_equal(a, b));
    case Op::And:
      return bound_min(a, b);
    case Op::Or:
      return bound_max(a, b);
    case Op::Not:
      return bound_not(a);
    case Op::Select:
      return bound_select(a, b, c);
    case Op::Min:
      return bound_min(a, b);
    case Op::Max:
      return bound_max(a, b);
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::Divide:
    case Op::FloorDivide:
    case Op::Modulo:
    case Op::Pow:
      return bound_arithmetic(e, a, b);
    default:
      return bound_unary(e, a);
  }
}

uint32_t append(const Expr& e, std::map<const void*, uint32_t>& places,
                std::vector<BoundStep>& steps) {
  if (const auto found = places.find(e.identity()); found != places.end()) return found->second;
  BoundStep step{e, {}};
  // Whatever the indices, a Load is one of the input's elements.
  for (size_t i = 0; e.op() != Op::Load && i < e.operands().size(); ++i) {
    step.operands[i] = append(e.operand(i), places, steps);
  }
  const auto place = static_cast<uint32_t>(steps.size());
  steps.push_back(std::move(step));
  places.emplace(e.identity(), place);
  return place;
}

}  // namespace

bool Interval::contains(double value) const {
  return std::isnan(value) ? may_be_nan : low <= value && value <= high;
}

std::vector<BoundStep> steps_of(const Expr& e) {
  std::vector<BoundStep> steps;
  std::map<const void*, uint32_t> places;
  append(e, places, steps);
  return steps;
}

Interval bound_step(const Expr& e, const Interval& a, const Interval& b, const Interval& c,
                    const Bounds& bounds) {
  Interval result = bound_node(e, a, b, c, bounds);
  if (e.type() == Type::Float) {
    if (result.low < -kLargestFloat) result.low = -kInfinity;
    if (result.high > kLargestFloat) result.high = kInfinity;
  } else {
    result.may_be_nan = false;
  }
  if (e.type() == Type::Bool) {
    result = {std::max(result.low, 0.0), std::min(result.high, 1.0), false};
  }
  return result;
}

Interval Bounder::bound(const Bounds& bounds) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto& [e, operands] = steps_[i];
    values_[i] =
        bound_step(e, values_[operands[0]], values_[operands[1]], values_[operands[2]], bounds);
  }
  return values_.back();
}

Interval bound(const Expr& e, const Bounds& bounds) { return Bounder(e).bound(bounds); }

Interval bound(const Expr& e) {
  const auto anything = [](std::string_view) { return Interval{}; };
  return bound(e, {anything, anything});
}

}  // namespace attngen::expr
