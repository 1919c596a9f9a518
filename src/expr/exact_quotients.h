// Which quotients a kernel divides for, where x * (1 / y) takes their place otherwise.
#pragma once

#include <set>
#include <utility>

#include "expr/expr.h"

namespace attngen::expr {

bool is_power_of_two(double value);

// A floor, a remainder or a comparison of Floats: where an operand stands at an edge, its last bit
// decides. Not so what a score decides, which is not exact anyway.
bool makes_step(const Expr& e);

// Those of which a step is made: 121 * (1 / 121) would be below 1. Not division by a power of two,
// which is exact. All others too, if `all`.
class ExactQuotients {
 public:
  explicit ExactQuotients(const Expr& e, bool all = false) { mark(e, all); }
  bool contains(const Expr& quotient) const { return exact_.contains(quotient.identity()); }

 private:
  void mark(const Expr& e, bool exact);

  std::set<std::pair<const void*, bool>> visited_;
  std::set<const void*> exact_;
};

}  // namespace attngen::expr
