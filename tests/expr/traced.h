// Which values an expression passes through.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "expr/evaluate.h"
#include "random_expr.h"

namespace attngen::expr::testing {

// Evaluates with every subexpression's value; `tame` is whether all were finite and of a size at
// which rewriting costs a few last bits only.
struct Traced {
  double value = 0;
  bool tame = true;
};
inline Traced traced(const Expr& e, const std::vector<double>& values) {
  const std::vector<std::string> names = all_names();
  Traced result;
  const auto visit = [&](const auto& self, const Expr& node) -> void {
    const double value = Program(node, names)(values);
    const double size = std::fabs(value);
    result.tame = result.tame && std::isfinite(value) && size < 1e6 && (size == 0 || size > 1e-9);
    for (const Expr& operand : node.operands()) {
      self(self, operand);
    }
  };
  visit(visit, e);
  result.value = Program(e, names)(values);
  return result;
}

// Whether a last bit of an operand can change the value by more than last bits.
inline bool has_jump(const Expr& e) {
  const bool jumps = e.op() == Op::Floor || e.op() == Op::FloorDivide || e.op() == Op::Modulo ||
                     e.op() == Op::ToInt || e.op() == Op::Sign || e.type() == Type::Bool;
  for (const Expr& operand : e.operands()) {
    if (has_jump(operand)) {
      return true;
    }
  }
  return jumps && !e.operands().empty() && e.operand(0).type() != Type::Int;
}

}  // namespace attngen::expr::testing
