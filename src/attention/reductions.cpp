#include "attention/reductions.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

bool is_reduction(const Expr& e) { return e.op() == Op::RowMax || e.op() == Op::RowSum; }

}  // namespace

Expr replace_reductions(const Expr& e, const std::function<Expr(const Expr&)>& replace) {
  if (is_reduction(e)) return replace(e);
  if (!expr::find_node(e, is_reduction)) {
    return e;
  }
  return expr::map_operands(
      e, [&](const Expr& operand) { return replace_reductions(operand, replace); });
}

}  // namespace attngen::attention
