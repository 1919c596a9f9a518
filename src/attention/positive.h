// Factors and divisors that all rows of a tile share, such as inputs' elements, whose signs are
// known at run time alone.
#pragma once

#include <vector>

#include "attention/linear.h"

namespace attngen::attention {

// Whether an Int is the same for all pairs of a head, and proven to be at least `least`.
bool is_shared_from(double least, const expr::Expr& e, Inputs inputs);

// By what a mask divides, or multiplies what differs from pair to pair, that is shared and may be
// negative or 0, in the order of their places.
std::vector<expr::Expr> signed_factors(const expr::Expr& mask, Inputs inputs);

// All of them are positive.
expr::Expr are_positive(const std::vector<expr::Expr>& factors);
// The mask where they are: with max(factor, 1) in the place of each.
expr::Expr with_positive(const expr::Expr& mask, const std::vector<expr::Expr>& factors);

}  // namespace attngen::attention
