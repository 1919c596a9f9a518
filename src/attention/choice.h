// A comparison with a choice in it, as the choice between two comparisons.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace attngen::attention {

// q - k < (w if c else n) is q - k < w where c holds, and q - k < n elsewhere.
struct Choice {
  expr::Expr condition, yes, no;
};
// By the first choice of `e`, outside of a load's indices, whose condition may differ from row to
// row or key to key.
std::optional<Choice> choice_of(const expr::Expr& e);

}  // namespace attngen::attention
