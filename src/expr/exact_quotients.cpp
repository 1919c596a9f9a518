#include "expr/exact_quotients.h"

#include <cmath>

#include "expr/ops.h"

namespace attngen::expr {

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isfinite(value) && std::frexp(value, &exponent) == 0.5;
}

void ExactQuotients::mark(const Expr& e, bool exact) {
  const bool makes_steps = e.op() == Op::Floor || e.op() == Op::ToInt || is_comparison(e.op());
  exact = exact || (makes_steps && !mentions(e, "score") && !mentions(e, "$product"));
  if (!visited_.emplace(e.identity(), exact).second) return;
  if (exact && e.op() == Op::Divide) {
    const Expr& divisor = e.operand(1);
    if (!divisor.is_number() || !is_power_of_two(std::fabs(divisor.number()))) {
      exact_.insert(e.identity());
    }
  }
  for (const Expr& operand : e.operands()) mark(operand, exact);
}

}  // namespace attngen::expr
