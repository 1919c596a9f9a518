#include "attention/interval_mask.h"

#include "expr/simplify.h"

namespace attngen::attention {

bool is_interval_mask(const KeyRange& range) {
  if (range.always_full) return true;
  const expr::Expr row = expr::variable("q_idx", expr::Type::Int);
  const auto of_one_row = [&](const expr::Expr& e) {
    return expr::simplify(expr::substitute(e, {{"q_first", row}, {"q_last", row}}));
  };
  return expr::same(of_one_row(range.begin), of_one_row(range.full_begin)) &&
         expr::same(of_one_row(range.end), of_one_row(range.full_end));
}

bool has_row_limits(const KeyRange& range) { return is_interval_mask(range) && !searches(range); }

}  // namespace attngen::attention
