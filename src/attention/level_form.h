// Blocks of keys in which all pairs of a row add the same to their product: Shaw's distances beyond
// the last one. There a pair costs what it does in plain softmax. A kernel finds out as it comes to
// a block.
#pragma once

#include <optional>
#include <vector>

#include "expr/expr.h"

namespace attngen::attention {

// The score is `factor` times the product, and the same for all pairs of a row in a block where
// each of the whole numbers has one value for the first and the last key: along the keys they grow,
// or they fall.
struct LevelForm {
  double factor = 1;
  std::vector<expr::Expr> indices;
};

// Nothing of a score that changes from key to key in every block, or in none. Strips are left as
// they are: of T5's buckets, to ask took longer than to read (docs/ladder.md, run AC).
std::optional<LevelForm> level_form(const expr::Expr& score);

}  // namespace attngen::attention
