// Ends of whole numbers over a block.
#include "attention/block_bounds.h"

#include <algorithm>
#include <cmath>

#include "attention/sum_range.h"
#include "attention/tiles.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

Expr name(const char* variable) { return expr::variable(variable, expr::Type::Int); }

// n of `x % n` or `x // n` where n is a number, and the least Int can be divided by it; else 0.
int64_t divisor_of(const Expr& e) {
  const Expr& divisor = e.operand(1);
  constexpr double kLargest = 1 << 30;
  if (!divisor.is_number() || std::abs(divisor.number()) > kLargest) return 0;
  return divisor.is_number(-1) ? 0 : static_cast<int64_t>(divisor.number());
}

bool ascends(const Expr& load, Inputs inputs) {
  const auto& indices = load.operands();
  return sorted_input(load, inputs) != nullptr &&
         std::none_of(indices.begin(), indices.end() - 1, varies);
}

}  // namespace

int64_t positive_divisor(const Expr& e) { return std::max<int64_t>(0, divisor_of(e)); }

Expr both(const Expr& a, const Expr& b) { return expr::make(Op::And, {a, b}); }
Expr either(const Expr& a, const Expr& b) { return expr::make(Op::Or, {a, b}); }
Expr negation(const Expr& a) { return expr::make(Op::Not, {a}); }

std::optional<Ends> BlockBounds::ends(const Expr& e) {
  if (!varies(e)) return Ends{e, e};
  if (const auto* known = ends_.find(e)) return *known;
  return ends_.keep(e, ends_of_linear(e));
}

std::optional<Ends> BlockBounds::ends_of_linear(const Expr& e) {
  const auto sum = linear(e);
  return sum ? ends_of_sum(*sum) : std::nullopt;
}

std::optional<Ends> BlockBounds::ends_of_sum(const Linear& sum) {
  Linear low, high;
  low.constant = high.constant = sum.constant;
  for (const Linear::Term& term : sum.terms) {
    const auto atom = ends_of_atom(term.atom);
    if (!atom) return std::nullopt;
    const bool falls = term.coefficient < 0;
    const auto least = linear(falls ? atom->high : atom->low);
    const auto greatest = linear(falls ? atom->low : atom->high);
    if (!least || !greatest) return std::nullopt;
    const auto next_low = add(low, *least, term.coefficient);
    const auto next_high = add(high, *greatest, term.coefficient);
    if (!next_low || !next_high) return std::nullopt;
    low = *next_low;
    high = *next_high;
  }
  const auto least = saturated(low, inputs_);
  const auto greatest = saturated(high, inputs_);
  return least && greatest ? std::optional(Ends{*least, *greatest}) : std::nullopt;
}

// The least id has no opposite, and stands in tables even where no pair looks at it.
std::optional<Expr> BlockBounds::negated(const Expr& e) {
  const auto sum = linear(e);
  const auto opposite = sum ? add({}, *sum, -1) : std::nullopt;
  if (!opposite) return std::nullopt;
  const Expr negative = expr::make(Op::Negate, {e});
  return fits_32_bits(range_of(*opposite, inputs_)) ? negative
                                                    : expr::make(Op::Saturate, {negative});
}

std::optional<Ends> BlockBounds::ends_of_atom(const Expr& e) {
  if (!varies(e)) return Ends{e, e};
  const auto operand = [&](size_t i) { return ends(e.operand(i)); };
  switch (e.op()) {
    case Op::Variable:
      return e.name() == "kv_idx" ? Ends{name("kv_first"), name("kv_last")}
                                  : Ends{name("q_first"), name("q_last")};
    case Op::Load:
      return ends_of_load(e);
    case Op::Modulo:
      return ends_of_modulo(e);
    case Op::FloorDivide: {
      const auto x = operand(0);
      const int64_t divisor = divisor_of(e);
      if (!x || divisor == 0) return std::nullopt;
      return divisor > 0 ? rising(e, *x) : falling(e, *x);
    }
    case Op::Min:
    case Op::Max: {
      const auto x = operand(0);
      const auto y = operand(1);
      if (!x || !y) return std::nullopt;
      return Ends{expr::make(e.op(), {x->low, y->low}), expr::make(e.op(), {x->high, y->high})};
    }
    case Op::Abs: {
      const auto x = operand(0);
      return x ? size_of(*x) : std::nullopt;
    }
    case Op::Square:
      return ends_of_whole_square(e.operand(0));
    case Op::Multiply:  // of two that vary: a square too, where they are one
      if (expr::same(e.operand(0), e.operand(1))) return ends_of_whole_square(e.operand(0));
      return ends_of_whole_product(e);
    case Op::Relu:
    case Op::Sign: {
      const auto x = operand(0);
      return x ? std::optional(rising(e, *x)) : std::nullopt;
    }
    case Op::ToInt: {
      const auto x = ends_of_float(e.operand(0));
      return x ? std::optional(whole_where_finite(rising(e, *x), *x)) : std::nullopt;
    }
    case Op::Select:
      return ends_of_choice(e);
    default:
      return std::nullopt;
  }
}

std::optional<Ends> BlockBounds::ends_of_whole_square(const Expr& root) {
  const auto x = ends(root);
  const auto size = x ? size_of(*x) : std::nullopt;
  return size ? std::optional(square_of_size(*size)) : std::nullopt;
}

bool BlockBounds::are_positive(const Expr& e) const {
  return std::ranges::all_of(e.operands(), [this](const Expr& operand) {
    const expr::Interval range = expr::bound(operand, bounds_of(inputs_));
    // Intervals are wider by what doubles round, which is nothing of a float of 32 bits.
    constexpr double kRounding = 0x1p-150;
    return range.low > -kRounding && !range.may_be_nan;
  });
}

std::optional<Ends> BlockBounds::ends_of_whole_product(const Expr& e) {
  if (!are_positive(e)) return std::nullopt;
  const auto x = ends(e.operand(0));
  const auto y = ends(e.operand(1));
  if (!x || !y) return std::nullopt;
  const Ends product = product_of_positive(*x, *y);
  return Ends{expr::make(Op::Saturate, {product.low}), expr::make(Op::Saturate, {product.high})};
}

std::optional<Ends> BlockBounds::ends_of_choice(const Expr& e) {
  const Expr& condition = e.operand(0);
  const auto x = ends(e.operand(1));
  const auto y = ends(e.operand(2));
  if (!x || !y) return std::nullopt;
  if (!varies(condition)) {
    return Ends{expr::make(Op::Select, {condition, x->low, y->low}),
                expr::make(Op::Select, {condition, x->high, y->high})};
  }
  return Ends{expr::make(Op::Min, {x->low, y->low}), expr::make(Op::Max, {x->high, y->high})};
}

std::optional<Ends> BlockBounds::size_of(const Ends& x) {
  const auto above = negated(x.low);
  const auto below = negated(x.high);
  if (!above || !below) return std::nullopt;
  const Expr nearest = expr::make(Op::Max, {x.low, *below});
  return Ends{expr::make(Op::Relu, {nearest}), expr::make(Op::Max, {x.high, *above})};
}

std::optional<size_t> BlockBounds::table_of(const Expr& e) {
  if (e.op() != Op::Load || e.type() != expr::Type::Int || ascends(e, inputs_)) {
    return std::nullopt;
  }
  return find_table(e, tables_);
}

// An input that ascends along its last dimension is least at the least index; of any other a table
// knows.
std::optional<Ends> BlockBounds::ends_of_load(const Expr& e) {
  const auto& indices = e.operands();
  const auto last = ascends(e, inputs_) ? ends(indices.back()) : std::nullopt;
  if (!last) {
    const auto table = table_of(e);
    if (!table) return std::nullopt;
    return Ends{least_of(*table, tables_), greatest_of(*table, tables_)};
  }
  return rising(e, *last, indices.size() - 1);
}

// Within one turn of the divisor a remainder grows with its dividend.
std::optional<Ends> BlockBounds::ends_of_modulo(const Expr& e) {
  const int64_t divisor = positive_divisor(e);
  if (divisor == 0) return std::nullopt;
  const Ends all{expr::integer(0), expr::integer(divisor - 1)};
  const auto x = ends(e.operand(0));
  if (!x) return all;
  const auto turn = [&](const Expr& at) { return expr::make(Op::FloorDivide, {at, e.operand(1)}); };
  const auto remainder = [&](const Expr& at) { return expr::make(Op::Modulo, {at, e.operand(1)}); };
  const Expr one_turn = expr::make(Op::Equal, {turn(x->low), turn(x->high)});
  return Ends{expr::make(Op::Select, {one_turn, remainder(x->low), all.low}),
              expr::make(Op::Select, {one_turn, remainder(x->high), all.high})};
}

}  // namespace attngen::attention
