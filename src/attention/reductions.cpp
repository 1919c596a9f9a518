#include "attention/reductions.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

Expr find_reduction(const Expr& e) {
  if (e.op() == Op::RowMax || e.op() == Op::RowSum) {
    return e;
  }
  for (const Expr& operand : e.operands()) {
    if (Expr found = find_reduction(operand)) {
      return found;
    }
  }
  return {};
}

Expr replace_reductions(const Expr& e, const std::function<Expr(const Expr&)>& replace) {
  if (!find_reduction(e)) {
    return e;
  }
  const Expr result = expr::map_operands(
      e, [&](const Expr& operand) { return replace_reductions(operand, replace); });
  return e.op() == Op::RowMax || e.op() == Op::RowSum ? replace(result) : result;
}

}  // namespace attngen::attention
