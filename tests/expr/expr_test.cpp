#include "expr/expr.h"

#include <doctest/doctest.h>

using namespace attngen::expr;

TEST_CASE("an Int meets a Float as a Float") {
  const Expr sum = make(Op::Add, {variable("i", Type::Int), variable("x", Type::Float)});
  CHECK(sum.type() == Type::Float);
  CHECK(sum.operand(0).op() == Op::ToFloat);
  CHECK(make(Op::Divide, {integer(1), integer(2)}).type() == Type::Float);
}
