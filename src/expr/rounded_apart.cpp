#include "expr/rounded_apart.h"

#include <cmath>

#include "expr/ops.h"

namespace attngen::expr {

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isfinite(value) && std::frexp(value, &exponent) == 0.5;
}

namespace {

// As a spec names the score, and as an arranged form does what the score is made of.
bool of_scores(const Expr& e) { return mentions(e, "score") || mentions(e, "$product"); }

}  // namespace

bool makes_step(const Expr& e) {
  const bool of_floats = !e.operands().empty() && e.operand(0).type() == Type::Float;
  const bool jumps = e.op() == Op::Floor || e.op() == Op::ToInt || e.op() == Op::FloorDivide ||
                     e.op() == Op::Modulo || is_comparison(e.op());
  return of_floats && jumps && !of_scores(e);
}

bool RoundedApart::divides(const Expr& quotient) const {
  const Expr& divisor = quotient.operand(1);
  const bool is_exact = divisor.is_number() && is_power_of_two(std::fabs(divisor.number()));
  return contains(quotient) && !is_exact;
}

void RoundedApart::mark(const Expr& e, bool of_step) {
  of_step = of_step || makes_step(e);
  if (!visited_.emplace(e.identity(), of_step).second) return;
  if (of_step) rounded_.insert(e.identity());
  for (const Expr& operand : e.operands()) mark(operand, of_step);
}

}  // namespace attngen::expr
