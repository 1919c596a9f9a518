// Sums and products as chains of parts: what cancels, what merges. A chain in which nothing does is
// left exactly as it was written.
#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/simplifier.h"

namespace attngen::expr {
namespace {

// Longer chains are left alone: sharing can make them exponentially long.
constexpr size_t kMaxParts = 64;

bool is_finite_number(const Expr& e) { return e.is_number() && std::isfinite(e.number()); }

// Of all numbers the least Int alone has none.
bool has_opposite(const Expr& number) {
  return number.type() != Type::Int || !number.is_number(std::numeric_limits<int32_t>::min());
}

// Nor has a product that may be the least Int: one by -1 or by another power of two.
bool product_has_opposite(const Expr& coefficient) {
  return coefficient.type() != Type::Int || !is_power_of_two(-coefficient.number());
}

// The operand of a product that is a number.
const Expr* coefficient_of(const Expr& e) {
  if (e.op() != Op::Multiply) {
    return nullptr;
  }
  if (e.operand(0).is_number()) {
    return &e.operand(0);
  }
  return e.operand(1).is_number() ? &e.operand(1) : nullptr;
}

// Whether a chain may be put together from so many parts that were others before. Of an Int whose
// value fits 32 bits what some of the parts give need not: of (a - 1e9) + (c - 1e9) written as
// a + c - 2e9 that is a + c. Two parts give no other value than the chain's. A sign before the
// whole is a part too: a + c may be 2^31, which -(a + c) is not.
bool may_regroup(Type type, size_t parts) { return type != Type::Int || parts <= 2; }

}  // namespace

// Removes pairs of the same value with opposite signs; whether there were any.
bool Simplifier::cancel(Parts& parts) {
  bool any = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = i + 1; j < parts.size(); ++j) {
      if (parts[i].negative != parts[j].negative && !parts[i].value.is_number() &&
          same(parts[i].value, parts[j].value)) {
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
        any = true;
        --i;  // wraps around at 0, and back
        break;
      }
    }
  }
  return any;
}

// Moves the finite numbers out of `parts` into `constant`, their sum or product. Leaves everything
// if that is not a usable number.
Simplifier::Merge Simplifier::take_constants(Parts& parts, double& constant, bool multiply) {
  const double neutral = multiply ? 1 : 0;
  const auto is_constant = [](const Part& part) { return is_finite_number(part.value); };
  const auto count = std::count_if(parts.begin(), parts.end(), is_constant);
  double total = neutral;
  bool zero = false;
  bool divides_by_zero = false;
  Type type = Type::Float;
  for (const Part& part : parts) {
    if (!is_constant(part)) {
      continue;
    }
    const double value = part.value.number();
    type = part.value.type();
    if (multiply) {
      zero = zero || (value == 0 && !part.negative);
      divides_by_zero = divides_by_zero || (value == 0 && part.negative);
      total = part.negative ? total / value : total * value;
    } else {
      total += part.negative ? -value : value;
    }
  }
  const bool lost = multiply && ((total == 0 && !zero) || divides_by_zero);
  const bool fits = type == Type::Int ? std::fabs(total) <= std::numeric_limits<int32_t>::max()
                                      : count == 0 || total == 0 || is_normal_float(total);
  if (lost || !fits) {
    return Merge::Impossible;
  }
  constant = total;
  const bool reciprocal = multiply && std::all_of(parts.begin(), parts.end(), [&](const Part& p) {
                            return is_constant(p) != p.negative;
                          });
  parts.erase(std::remove_if(parts.begin(), parts.end(), is_constant), parts.end());
  const bool shorter = count > 1 || (count == 1 && total == neutral && !reciprocal) || zero;
  return shorter ? Merge::Shorter : Merge::Same;
}

bool Simplifier::is_negative(const Expr& e) const {
  if (e.op() == Op::Negate) {
    return true;
  }
  if (e.is_number()) return e.number() < 0 && has_opposite(e);
  const Expr* coefficient = coefficient_of(e);
  return coefficient != nullptr && coefficient->number() < 0 && product_has_opposite(*coefficient);
}

// -e of an e that is_negative.
Expr Simplifier::opposite(const Expr& negative, Span span) {
  if (negative.op() == Op::Negate) {
    return negative.operand(0);
  }
  if (negative.is_number()) {
    return constant(negative.type(), -negative.number(), span);
  }
  std::vector<Expr> operands(negative.operands().begin(), negative.operands().end());
  Expr& number = operands[operands[0].is_number() ? 0 : 1];
  number = constant(number.type(), -number.number(), span);
  return build(Op::Multiply, std::move(operands), span);
}

Expr Simplifier::negate_rule(const Expr& operand, Span span) {
  if (is_negative(operand)) {
    return opposite(operand, span);
  }
  if (operand.op() == Op::Subtract) {
    return build(Op::Subtract, {operand.operand(1), operand.operand(0)}, span);
  }
  if (const Expr* number = coefficient_of(operand); number != nullptr && has_opposite(*number)) {
    const Expr& rest = operand.operand(number == &operand.operand(0) ? 1 : 0);
    return build(Op::Multiply, {constant(number->type(), -number->number(), span), rest}, span);
  }
  return {};
}

Expr Simplifier::sum_rule(Op op, const std::vector<Expr>& operands, Span span) {
  const Expr& a = operands[0];
  const Expr& b = operands[1];
  if (a.type() != b.type()) {
    return {};
  }
  Parts terms;
  if (collect_terms(a, false, terms) && collect_terms(b, op == Op::Subtract, terms)) {
    double total = 0;
    Parts rest = terms;
    const bool cancelled = !keeps_nans(a.type()) && cancel(rest);
    const bool merged = take_constants(rest, total, false) == Merge::Shorter;
    if (total != 0 || rest.empty()) {
      rest.push_back({false, constant(a.type(), total, span)});
    }
    const bool has_sign = std::ranges::all_of(rest, &Part::negative);
    if ((cancelled || merged) && may_regroup(a.type(), rest.size() + (has_sign ? 1 : 0))) {
      return sum_of(rest, a.type(), span);
    }
  }
  if (is_negative(b)) {
    return build(op == Op::Add ? Op::Subtract : Op::Add, {a, opposite(b, span)}, span);
  }
  if (op == Op::Add && is_negative(a)) {
    return build(Op::Subtract, {b, opposite(a, span)}, span);
  }
  return {};
}

// Appends the terms of `e`; false when there are too many.
bool Simplifier::collect_terms(const Expr& e, bool negative, Parts& terms) {
  if (terms.size() >= kMaxParts) {
    return false;
  }
  switch (e.op()) {
    case Op::Add:
      return collect_terms(e.operand(0), negative, terms) &&
             collect_terms(e.operand(1), negative, terms);
    case Op::Subtract:
      return collect_terms(e.operand(0), negative, terms) &&
             collect_terms(e.operand(1), !negative, terms);
    case Op::Negate:
      return collect_terms(e.operand(0), !negative, terms);
    default:
      terms.push_back({negative, e});
      return true;
  }
}

// Added terms first, in their order, then the subtracted ones.
Expr Simplifier::sum_of(const Parts& terms, Type type, Span span) {
  Expr sum;
  for (const Part& term : terms) {
    if (!term.negative) {
      sum = sum ? build(Op::Add, {sum, term.value}, span) : term.value;
    }
  }
  Expr subtracted;
  for (const Part& term : terms) {
    if (!term.negative) {
      continue;
    }
    if (sum) {
      sum = build(Op::Subtract, {sum, term.value}, span);
    } else {
      subtracted = subtracted ? build(Op::Add, {subtracted, term.value}, span) : term.value;
    }
  }
  if (subtracted) {
    return build(Op::Negate, {subtracted}, span);
  }
  return sum ? sum : constant(type, 0, span);
}

Expr Simplifier::product_rule(Op op, const std::vector<Expr>& operands, Span span) {
  const Expr& a = operands[0];
  const Expr& b = operands[1];
  if (a.type() != b.type() || (op == Op::Divide && a.type() == Type::Int)) {
    return {};
  }
  Parts factors;
  bool negative = false;
  if (!collect_factors(a, false, factors, negative) ||
      !collect_factors(b, op == Op::Divide, factors, negative)) {
    return {};
  }
  const bool had_negation = a.op() == Op::Negate || b.op() == Op::Negate;
  const bool cancelled = !keeps_nans(a.type()) && cancel(factors);
  const bool merged_exp = merge_exponentials(Op::Exp, factors, span);
  const bool merged_exp2 = merge_exponentials(Op::Exp2, factors, span);
  double coefficient = 1;
  Parts rest = factors;
  const Merge merged = take_constants(rest, coefficient, true);
  const bool minus_one = coefficient == -1 && !rest.empty();
  // Factors that do not merge stay in the order in which they were written, beside nothing else.
  if (merged == Merge::Impossible || (coefficient == 0 && !rest.empty() && keeps_nans(a.type()))) {
    return {};
  }
  if (!(had_negation || cancelled || merged_exp || merged_exp2 || merged == Merge::Shorter ||
        minus_one)) {
    return {};
  }
  if (negative) coefficient = -coefficient;
  if (!may_regroup(a.type(), rest.size() + (coefficient == 1 ? 0 : 1))) return {};
  return product_of(rest, coefficient, a.type(), span);
}

// Appends the factors of `e`, signs apart; false when there are too many. An Int's division has a
// remainder, so only Floats go into quotients.
bool Simplifier::collect_factors(const Expr& e, bool divides, Parts& factors, bool& negative) {
  if (factors.size() >= kMaxParts) {
    return false;
  }
  switch (e.op()) {
    case Op::Multiply:
      return collect_factors(e.operand(0), divides, factors, negative) &&
             collect_factors(e.operand(1), divides, factors, negative);
    case Op::Divide:
      return collect_factors(e.operand(0), divides, factors, negative) &&
             collect_factors(e.operand(1), !divides, factors, negative);
    case Op::Negate:
      negative = !negative;
      return collect_factors(e.operand(0), divides, factors, negative);
    default:
      factors.push_back({divides, e});
      return true;
  }
}

// exp(a) * exp(b) / exp(c) becomes exp(a + b - c), in the place of the first.
bool Simplifier::merge_exponentials(Op op, Parts& factors, Span span) {
  Parts exponents;
  size_t first = 0;
  Parts rest;
  for (const Part& factor : factors) {
    if (factor.value.op() != op) {
      rest.push_back(factor);
      continue;
    }
    first = exponents.empty() ? rest.size() : first;
    exponents.push_back({factor.negative, factor.value.operand(0)});
  }
  if (exponents.empty() || (exponents.size() == 1 && !exponents[0].negative)) {
    return false;
  }
  // Of exp(800) * exp(-800), a NaN, it would make 1.
  if (exponents.size() > 1 && keeps_nans(Type::Float)) return false;
  const Expr merged = build(op, {sum_of(exponents, Type::Float, span)}, span);
  // exp(log(x)) may have become a product or a quotient: its parts join the chain.
  Parts parts;
  bool negative = false;
  if (!collect_factors(merged, false, parts, negative) || negative) {
    return false;
  }
  rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(first), parts.begin(), parts.end());
  factors = std::move(rest);
  return true;
}

// coefficient * multiplied factors / divided factors, in their order.
Expr Simplifier::product_of(const Parts& factors, double coefficient, Type type, Span span) {
  if (coefficient == 0) {
    return constant(type, 0, span);
  }
  Expr product;
  if (coefficient != 1 && coefficient != -1) {
    product = constant(type, coefficient, span);
  }
  for (const Part& factor : factors) {
    if (!factor.negative) {
      product = product ? build(Op::Multiply, {product, factor.value}, span) : factor.value;
    }
  }
  if (!product) {
    product = constant(type, 1, span);
  }
  Expr divisor;
  for (const Part& factor : factors) {
    if (factor.negative) {
      divisor = divisor ? build(Op::Multiply, {divisor, factor.value}, span) : factor.value;
    }
  }
  if (divisor) {
    product = build(Op::Divide, {product, divisor}, span);
  }
  return coefficient == -1 ? build(Op::Negate, {product}, span) : product;
}

}  // namespace attngen::expr
