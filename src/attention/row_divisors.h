// Divisions of a pair by what its row's pairs have in common: products with a factor that is
// computed once. 2 * square(kv_idx - c[h]) / square(w[h]) is square(kv_idx - c[h]) * (2 /
// square(w[h])).
#pragma once

#include <functional>

#include "expr/expr.h"

namespace attngen::attention {

// `varies`: whether an expression differs between the pairs of a row. Quotients stay that evenly
// grow or that steps read: of the latter the last bit decides (expr/rounded_apart.h).
expr::Expr with_row_factors(const expr::Expr& e,
                            const std::function<bool(const expr::Expr&)>& varies,
                            const std::function<bool(const expr::Expr&)>& grows_evenly);

}  // namespace attngen::attention
