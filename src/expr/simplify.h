// Smaller expressions of the same value.
#pragma once

#include <map>
#include <string>

#include "expr/expr.h"

namespace attngen::expr {

// Folds constants, drops neutral elements, cancels x - x and x / x, merges nested negations, keeps
// sharing. Equal in value to the original wherever that is finite (Float results may differ in the
// last bits, a zero in its sign). Floats are not merged to what a float does not hold. What makes a
// number of a NaN or of an infinity does so after as before: x - x stays in
// x[b, kv_idx] - x[b, kv_idx] == 0. A fixed point: simplify(simplify(e)) is the same tree.
Expr simplify(const Expr& e);

// Each Variable by its replacement, at once (not repeatedly), types kept.
Expr substitute(const Expr& e, const std::map<std::string, Expr, std::less<>>& replacements);

}  // namespace attngen::expr
