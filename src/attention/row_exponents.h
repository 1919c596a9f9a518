// Powers of a score less a row's value, as a multiply-add.
//
// Example: 2^((score - m) 1.44) of a row m that follows the pairs seen so far is
// 2^(1.44 score - 1.44 m). The second product is a block's, so that a pair takes a multiply-add, in
// which the scale of the score may fold too, where it took a difference and a product. The sum of
// large terms rounds by more than their difference: not for scores that may be (large_scores.h).
#pragma once

#include <functional>

#include "expr/expr.h"

namespace attngen::attention {

// The same value, but for roundings. `reads_row` tells expressions that a row's changing values
// decide.
expr::Expr with_folded_rows(const expr::Expr& e,
                            const std::function<bool(const expr::Expr&)>& reads_row);

}  // namespace attngen::attention
