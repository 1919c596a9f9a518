// RowMax and RowSum nodes taken out of the row expressions that they stand in.
#pragma once

#include <functional>

#include "expr/expr.h"

namespace attngen::attention {

// Puts `replace(reduction)` in the place of each RowMax / RowSum; none stands inside another.
// Expressions without reductions come back as they are.
expr::Expr replace_reductions(const expr::Expr& e,
                              const std::function<expr::Expr(const expr::Expr&)>& replace);

}  // namespace attngen::attention
