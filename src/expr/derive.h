// Derivatives by reverse accumulation over the tree with its sharing: each node is visited once.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "expr/expr.h"
#include "expr/parse.h"

namespace attngen::expr {

// d e / d v for each v of `variables`, simplified; 0 where e does not depend on v. At a kink (abs,
// relu, max, floor) the derivative from the left or zero: abs'(0) = relu'(0) = 0, max(a, b) gives a
// half to each at a tie. The error names the function that has no derivative (RowMax, RowSum,
// Modulo in the divisor) and its span.
std::variant<std::vector<Expr>, Error> derive(const Expr& e,
                                              std::span<const std::string> variables);

}  // namespace attngen::expr
