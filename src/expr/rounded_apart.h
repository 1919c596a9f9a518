// Where each operation of a kernel rounds by itself, as a spec has it.
#pragma once

#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "expr/expr.h"

namespace attngen::expr {

// Whether a variable is not exact, so that no last bit matters of what reads it: as a score, which
// is a sum in an order of the kernel's own. Empty: none is.
using Inexact = std::function<bool(std::string_view variable)>;

// A floor, a remainder or a comparison of Floats that are exact: where an operand stands at an
// edge, its last bit decides.
bool makes_step(const Expr& e, const Inexact& inexact);

// What a step is made of: no quotient there is a product with a reciprocal, 121 * (1 / 121) being
// below 1, and no sum takes a product in as a multiply-add. All of `e`, if `all`.
class RoundedApart {
 public:
  RoundedApart(const Expr& e, const Inexact& inexact, bool all = false) { mark(e, inexact, all); }
  bool contains(const Expr& part) const { return rounded_.contains(part.identity()); }
  // Whether it takes a division: by a power of two a product with the reciprocal is as exact.
  bool divides(const Expr& quotient) const;

 private:
  void mark(const Expr& e, const Inexact& inexact, bool of_step);

  std::set<std::pair<const void*, bool>> visited_;
  std::set<const void*> rounded_;
};

}  // namespace attngen::expr
