// The terms of a sum: a + (b - c) is a, b and minus c.
#pragma once

#include <vector>

#include "expr/expr.h"

namespace attngen::attention {

struct Term {
  expr::Expr value;
  bool minus = false;
};

// A Float sum or difference.
bool is_sum(const expr::Expr& e);

// Of the Float expression that `e` is, one if it is no sum, in the order of the text. A sum of
// shared sums may have a number of terms exponential in its depth: behind the first 64, sums are
// terms.
std::vector<Term> terms_of(const expr::Expr& e);

// Empty for no terms.
expr::Expr sum_of(const std::vector<Term>& terms);

}  // namespace attngen::attention
