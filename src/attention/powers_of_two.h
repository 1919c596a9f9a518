// exp and sigmoid by powers of two, which the hardware has: their factors then fold into what is
// multiplied anyway.
#pragma once

#include "expr/expr.h"

namespace attngen::attention {

// The same value: exp(x) is 2^(x log2(e)), pow(0.9, x) 2^(x log2(0.9)), as of other bases that are
// known to be positive, sigmoid(x) is 1 / (1 + 2^(-x log2(e))), and a number times a power goes
// into the power.
expr::Expr by_powers_of_two(const expr::Expr& e);

}  // namespace attngen::attention
