#include "expr/expr.h"

#include <doctest/doctest.h>

using namespace attngen::expr;

TEST_CASE("an Int meets a Float as a Float") {
  const Expr sum = make(Op::Add, {variable("i", Type::Int), variable("x", Type::Float)});
  CHECK(sum.type() == Type::Float);
  CHECK(sum.operand(0).op() == Op::ToFloat);
  CHECK(make(Op::Divide, {integer(1), integer(2)}).type() == Type::Float);
}

TEST_CASE("normal floats and powers of two, at their ends") {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kLargest = std::numeric_limits<float>::max();
  CHECK(is_normal_float(kLeast));
  CHECK(is_normal_float(-kLargest));
  CHECK_FALSE(is_normal_float(kLeast / 2));
  CHECK_FALSE(is_normal_float(kLargest * 2));
  CHECK_FALSE(is_normal_float(0));
  CHECK(is_power_of_two(0.25));
  CHECK_FALSE(is_power_of_two(-4));
  CHECK_FALSE(is_power_of_two(0));
  CHECK_FALSE(is_power_of_two(kInfinity));
}

TEST_CASE("a node over other operands stays what it is") {
  const Expr element = load("t", Type::Float, {integer(0), variable("i", Type::Int)}, {3, 9});
  const Expr other = with_operand(element, 1, integer(7));
  CHECK(same(other, load("t", Type::Float, {integer(0), integer(7)})));
  CHECK(other.span().begin == 3);
  const Expr product = make(Op::Multiply, {variable("x", Type::Float), number(2)}, {1, 4});
  const Expr swapped = with_operands(product, {product.operand(1), product.operand(0)});
  CHECK(same(swapped, make(Op::Multiply, {number(2), variable("x", Type::Float)})));
  CHECK(swapped.span().end == 4);
  const Expr tripled = map_operands(
      product, [](const Expr& e) { return e.is_number() ? number(3 * e.number()) : e; });
  CHECK(tripled.operand(1).is_number(6));
  CHECK(with_operands(tripled.operand(0), {}).identity() == tripled.operand(0).identity());
}
