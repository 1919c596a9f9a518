// Powers of a score less a row's value, as a multiply-add.
//
// Example: 2^((score - m) 1.44) of a row m that follows the pairs seen so far is
// 2^(1.44 score - 1.44 m). The second product is a block's, so that a pair takes a multiply-add, in
// which the scale of the score may fold too, where it took a difference and a product. The sum of
// large terms rounds by more than their difference does: rounds_little (large_scores.h).
#pragma once

#include <functional>

#include "expr/expr.h"

namespace attngen::attention {

struct FoldedRows {
  expr::Expr value;  // the same, but for roundings
  // Whether nothing else reads a score and a row. What does may tell the largest score from the
  // row's maximum if the score is made anew there, and rounded another way: sqrt(m - score).
  bool apart = true;
};

// `reads_row` tells what a row's changing values decide, `is_small` what of an exponent may be
// folded: the part that its pair decides.
using Asks = std::function<bool(const expr::Expr&)>;
FoldedRows with_folded_rows(const expr::Expr& e, const Asks& reads_row, const Asks& is_small);

}  // namespace attngen::attention
