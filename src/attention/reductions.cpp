#include "attention/reductions.h"

#include <utility>

namespace attngen::attention {

using expr::Expr;
using expr::Op;

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
  std::vector<Expr> operands;
  for (const Expr& operand : e.operands()) {
    operands.push_back(replace_reductions(operand, replace));
  }
  const Expr result = with_operands(e, std::move(operands));
  return e.op() == Op::RowMax || e.op() == Op::RowSum ? replace(result) : result;
}

}  // namespace attngen::attention
