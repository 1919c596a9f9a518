// What it costs to divide keys by multiples of eight: in tiles whose keys are multiples of the
// number, or divide it, the quotient is the same for a block or the compiler knows to which columns
// it belongs, and knows the remainder but for a lane's place
// (templates/hopper/parts/divided_keys.cuh).
#pragma once

#include <vector>

#include "attention/pair_form.h"
#include "expr/count.h"
#include "expr/expr.h"

namespace attngen::schedule {

struct DividedKeys {
  std::vector<int> numbers;      // of score and weight
  expr::OperationCounts beyond;  // what a pair takes besides in tiles that do not fit them

  bool fit(int tile_kv) const;
};
DividedKeys divided_keys(const attention::PairForm& form, expr::Accuracy accuracy);

// An expression as a pair evaluates it in tiles that fit.
expr::Expr in_tiles_that_fit(const expr::Expr& e, const attention::PairForm& form);

}  // namespace attngen::schedule
