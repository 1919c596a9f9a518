#include "attention/reductions.h"

#include <utility>

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

bool is_reduction(const Expr& e) { return e.op() == Op::RowMax || e.op() == Op::RowSum; }

}  // namespace

Expr with_operands(const Expr& e, std::vector<Expr> operands) {
  switch (e.op()) {
    case Op::Number:
    case Op::Variable:
      return e;
    case Op::Load:
      return expr::load(e.name(), e.type(), std::move(operands), e.span());
    default:
      return expr::make(e.op(), std::move(operands), e.span());
  }
}

Expr replace_reductions(const Expr& e, const std::function<Expr(const Expr&)>& replace) {
  if (is_reduction(e)) return replace(e);
  if (!expr::find_node(e, is_reduction)) {
    return e;
  }
  std::vector<Expr> operands;
  for (const Expr& operand : e.operands()) {
    operands.push_back(replace_reductions(operand, replace));
  }
  return with_operands(e, std::move(operands));
}

}  // namespace attngen::attention
