#include "expr/rounded_apart.h"

#include <cmath>

#include "expr/ops.h"

namespace attngen::expr {

namespace {

bool reads_any(const Expr& e, const Inexact& inexact) {
  return inexact && find_node(e, [&](const Expr& node) {
                      return node.op() == Op::Variable && inexact(node.name());
                    }) != nullptr;
}

}  // namespace

bool makes_step(const Expr& e, const Inexact& inexact) {
  const bool of_floats = !e.operands().empty() && e.operand(0).type() == Type::Float;
  const bool jumps = e.op() == Op::Floor || e.op() == Op::ToInt || e.op() == Op::FloorDivide ||
                     e.op() == Op::Modulo || is_comparison(e.op());
  return of_floats && jumps && !reads_any(e, inexact);
}

bool RoundedApart::divides(const Expr& quotient) const {
  const Expr& divisor = quotient.operand(1);
  const bool is_exact = divisor.is_number() && is_power_of_two(std::fabs(divisor.number()));
  return contains(quotient) && !is_exact;
}

void RoundedApart::mark(const Expr& e, const Inexact& inexact, bool of_step) {
  of_step = of_step || makes_step(e, inexact);
  if (!visited_.emplace(e.identity(), of_step).second) return;
  if (of_step) rounded_.insert(e.identity());
  for (const Expr& operand : e.operands()) mark(operand, inexact, of_step);
}

}  // namespace attngen::expr
