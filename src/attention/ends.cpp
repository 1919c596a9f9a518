#include "attention/ends.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "expr/bound.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Of what is made of places alone. What inputs hold, and arguments, may be anything.
expr::Interval range_of_end(const Expr& end) {
  static constexpr std::array<std::string_view, 9> kInts{
      "q_first", "q_last", "kv_first", "kv_last", "seq_q", "seq_kv", "b", "h", "h_kv"};
  static constexpr expr::Interval kAny{-expr::kInfinity, expr::kInfinity, true};
  expr::Bounds bounds;
  bounds.variable = [](std::string_view name) {
    return std::ranges::count(kInts, name) > 0 ? expr::Interval{-0x1p31, 0x1p31} : kAny;
  };
  bounds.input = [](std::string_view) { return kAny; };
  return expr::bound(end, bounds);
}

bool is_surely_finite(const Expr& end) {
  const expr::Interval range = range_of_end(end);
  constexpr double kLargestFloat = 0x1p127;  // of a Float of 32 bits
  return !range.may_be_nan && range.low > -kLargestFloat && range.high < kLargestFloat;
}

// Nothing if they surely are.
Expr are_finite(std::span<const Ends> operands) {
  Expr finite;
  for (const Ends& x : operands) {
    for (const Expr& end : {x.low, x.high}) {
      if (is_surely_finite(end)) continue;
      const Expr one =
          expr::make(Op::Less, {expr::make(Op::Abs, {end}), expr::number(expr::kInfinity)});
      finite = finite ? expr::make(Op::And, {finite, one}) : one;
    }
  }
  return finite;
}

Ends otherwise(const Expr& condition, const Ends& ends, const Expr& least, const Expr& greatest) {
  if (!condition) return ends;
  return {expr::make(Op::Select, {condition, ends.low, least}),
          expr::make(Op::Select, {condition, ends.high, greatest})};
}

// The size of a Float, which is finite.
Ends size_of(const Ends& x) {
  const auto negative = [](const Expr& e) { return expr::make(Op::Negate, {e}); };
  return {expr::make(Op::Relu, {expr::make(Op::Max, {x.low, negative(x.high)})}),
          expr::make(Op::Max, {x.high, negative(x.low)})};
}

// Functions that are nowhere below 0 err relatively, the others by as much near 0 as elsewhere.
bool is_positive(Op op) { return op == Op::Exp || op == Op::Exp2 || op == Op::Sigmoid; }

Ends widened(Op op, const Ends& ends) {
  constexpr double kSlack = 0x1p-9;
  if (op == Op::Sqrt) return ends;  // correctly rounded
  if (is_positive(op)) {
    return {expr::make(Op::Multiply, {ends.low, expr::number(1 - kSlack)}),
            expr::make(Op::Multiply, {ends.high, expr::number(1 + kSlack)})};
  }
  return {expr::make(Op::Subtract, {ends.low, expr::number(kSlack)}),
          expr::make(Op::Add, {ends.high, expr::number(kSlack)})};
}

}  // namespace

Ends rising(const Expr& e, const Ends& x, size_t operand) {
  return {expr::with_operand(e, operand, x.low), expr::with_operand(e, operand, x.high)};
}

Ends falling(const Expr& e, const Ends& x, size_t operand) {
  return {expr::with_operand(e, operand, x.high), expr::with_operand(e, operand, x.low)};
}

Ends product_of_positive(const Ends& x, const Ends& y) {
  const auto at_least_0 = [](const Expr& e) {
    return range_of_end(e).low >= 0 ? e : expr::make(Op::Relu, {e});
  };
  return {expr::make(Op::Multiply, {at_least_0(x.low), at_least_0(y.low)}),
          expr::make(Op::Multiply, {x.high, y.high})};
}

Ends square_of_size(const Ends& size) {
  const auto square = [](const Expr& e) {
    constexpr int64_t kLargestRoot = 46'340;  // whose square is an Int
    return expr::make(Op::Square, {expr::make(Op::Min, {e, expr::integer(kLargestRoot)})});
  };
  return {square(size.low), square(size.high)};
}

Ends where_finite(const Ends& ends, std::span<const Ends> operands) {
  return otherwise(are_finite(operands), ends, expr::number(-expr::kInfinity),
                   expr::number(expr::kInfinity));
}

Ends whole_where_finite(const Ends& ends, const Ends& operand) {
  return otherwise(are_finite({&operand, 1}), ends,
                   expr::integer(std::numeric_limits<int32_t>::min()),
                   expr::integer(std::numeric_limits<int32_t>::max()));
}

bool is_rising_function(Op op) {
  return is_positive(op) || op == Op::Sqrt || op == Op::Log || op == Op::Log2 || op == Op::Tanh ||
         op == Op::Erf;
}

Ends ends_of_function(Op op, const Ends& x) {
  const auto of = [op](const Expr& end) { return expr::make(op, {end}); };
  Ends ends = where_finite(widened(op, {of(x.low), of(x.high)}), {&x, 1});
  const bool of_all = op != Op::Sqrt && op != Op::Log && op != Op::Log2;
  const expr::Interval range = range_of_end(x.low);
  if (of_all || (range.low >= 0 && !range.may_be_nan)) return ends;
  const Expr defined = expr::make(Op::GreaterEqual, {x.low, expr::number(0)});
  return otherwise(defined, ends, expr::number(-expr::kInfinity), expr::number(expr::kInfinity));
}

Ends ends_of_square(const Ends& x) {
  const Ends size = size_of(x);
  const auto square = [](const Expr& e) { return expr::make(Op::Square, {e}); };
  return where_finite({square(size.low), square(size.high)}, {&x, 1});
}

}  // namespace attngen::attention
