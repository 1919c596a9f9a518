#include "attention/choice.h"

#include "attention/linear.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;

const Expr* find_choice(const Expr& e) {
  if (e.op() == Op::Load) return nullptr;
  if (e.op() == Op::Select && varies(e.operand(0))) return &e;
  for (const Expr& operand : e.operands()) {
    if (const Expr* found = find_choice(operand)) return found;
  }
  return nullptr;
}

Expr with(const Expr& e, const Expr& choice, const Expr& value) {
  if (expr::same(e, choice)) return value;
  if (e.op() == Op::Load || e.operands().empty()) return e;
  return expr::map_operands(e, [&](const Expr& operand) { return with(operand, choice, value); });
}

}  // namespace

std::optional<Choice> choice_of(const Expr& e) {
  const Expr* choice = find_choice(e);
  if (choice == nullptr) return std::nullopt;
  return Choice{choice->operand(0), with(e, *choice, choice->operand(1)),
                with(e, *choice, choice->operand(2))};
}

}  // namespace attngen::attention
