// Where each operation of a kernel rounds by itself, as a spec has it.
#pragma once

#include <set>
#include <utility>

#include "expr/expr.h"

namespace attngen::expr {

bool is_power_of_two(double value);

// A floor, a remainder or a comparison of Floats: where an operand stands at an edge, its last bit
// decides. Not so what a score decides, which is not exact anyway.
bool makes_step(const Expr& e);

// What a step is made of: no quotient there is a product with a reciprocal, 121 * (1 / 121) being
// below 1, and no sum takes a product in as a multiply-add. All of `e`, if `all`.
class RoundedApart {
 public:
  explicit RoundedApart(const Expr& e, bool all = false) { mark(e, all); }
  bool contains(const Expr& part) const { return rounded_.contains(part.identity()); }
  // Whether it takes a division: by a power of two a product with the reciprocal is as exact.
  bool divides(const Expr& quotient) const;

 private:
  void mark(const Expr& e, bool of_step);

  std::set<std::pair<const void*, bool>> visited_;
  std::set<const void*> rounded_;
};

}  // namespace attngen::expr
