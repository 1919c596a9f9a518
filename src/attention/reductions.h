// RowMax and RowSum nodes taken out of the row expressions that they stand in.
#pragma once

#include <functional>
#include <vector>

#include "expr/expr.h"

namespace attngen::attention {

// The same node over other operands: leaves are returned as they are.
expr::Expr with_operands(const expr::Expr& e, std::vector<expr::Expr> operands);

// Puts `replace(reduction)` in the place of each RowMax / RowSum; none stands inside another.
// Expressions without reductions come back as they are.
expr::Expr replace_reductions(const expr::Expr& e,
                              const std::function<expr::Expr(const expr::Expr&)>& replace);

}  // namespace attngen::attention
