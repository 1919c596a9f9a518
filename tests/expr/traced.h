// Which values an expression passes through.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "expr/evaluate.h"
#include "expr/ops.h"
#include "random_expr.h"

namespace attngen::expr::testing {

struct Traced {
  double value = 0;
  // Whether rewriting, or arithmetic of less digits, costs last bits only: all finite Floats were
  // of a moderate size, all Ints in i32, and no operand stood at a jump.
  bool tame = true;
  bool finite = true;  // no infinity and no NaN on the way
};

// Whether a change of the operands by `roundoff`, or of a zero's sign, can change the value by more
// than that.
inline bool is_at_jump(const Expr& e, double a, double b, double roundoff) {
  if (e.operands().empty() || e.operand(0).type() != Type::Float) return false;
  const auto near = [&](double x, double y) {
    return std::fabs(x - y) <= roundoff * (1 + std::fabs(x));
  };
  switch (e.op()) {
    case Op::Floor:
    case Op::ToInt:
      return near(a, std::round(a));
    case Op::FloorDivide:
    case Op::Modulo:
      return b == 0 || near(a / b, std::round(a / b));
    case Op::Divide:
      return b == 0;
    case Op::Rsqrt:
    case Op::Pow:
      return a == 0;
    case Op::Sign:
      return near(a, 0);
    default:
      return is_comparison(e.op()) && near(a, b);
  }
}

// Evaluates with every subexpression's value.
inline Traced traced(const Expr& e, const std::vector<std::string>& names,
                     const std::vector<double>& values, const Loader& load,
                     double roundoff = 1e-7) {
  Traced result;
  const auto visit = [&](const auto& self, const Expr& node) -> double {
    std::vector<double> operands{0, 0};
    for (size_t i = 0; i < node.operands().size(); ++i) {
      operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(i),
                      self(self, node.operand(i)));
    }
    const double value = Program(node, names)(values, load);
    const double size = std::fabs(value);
    const bool moderate = node.type() == Type::Float
                              ? size == 0 || (size > 1e-9 && size < 1e6)
                              : value >= std::numeric_limits<int32_t>::min() &&
                                    value <= std::numeric_limits<int32_t>::max();
    result.tame = result.tame && (moderate || !std::isfinite(value)) &&
                  !is_at_jump(node, operands[0], operands[1], roundoff);
    result.finite = result.finite && std::isfinite(value);
    return value;
  };
  result.value = visit(visit, e);
  return result;
}
// Of a random one, which reads all_names() alone.
inline Traced traced(const Expr& e, const std::vector<double>& values, double roundoff = 1e-7) {
  return traced(e, all_names(), values, {}, roundoff);
}

}  // namespace attngen::expr::testing
