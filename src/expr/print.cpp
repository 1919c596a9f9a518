#include "expr/print.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "expr/decimal.h"
#include "expr/ops.h"

namespace attngen::expr {
namespace {

bool is_literal(const Expr& e) {
  return e.is_number() || (e.op() == Op::Negate && e.operand(0).is_number());
}

// Whether a Float operand of `parent` would be one even if it were written as an integer.
bool float_anyway(const Expr& parent, size_t operand) {
  switch (parent.op()) {
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::FloorDivide:
    case Op::Modulo:
    case Op::Min:
    case Op::Max:
    case Op::Select:
      break;
    case Op::Negate:
    case Op::Abs:
    case Op::Relu:
    case Op::Square:
    case Op::Sign:
      return false;
    default:
      if (!is_comparison(parent.op())) {
        return true;
      }
  }
  for (size_t i = parent.op() == Op::Select ? 1 : 0; i < parent.operands().size(); ++i) {
    const Expr& other = parent.operand(i);
    if (i != operand && other.type() == Type::Float && !is_literal(other) &&
        other.op() != Op::ToFloat) {
      return true;
    }
  }
  return false;
}

std::string print_at(const Expr& e, Precedence loosest);

std::string print_operand(const Expr& parent, size_t i, Precedence loosest) {
  const Expr& e = parent.operand(i);
  constexpr double kLargest = 1e9;
  if (e.is_number() && e.type() == Type::Float && float_anyway(parent, i) &&
      e.number() == std::floor(e.number()) && std::fabs(e.number()) < kLargest) {
    return print_at(integer(static_cast<int64_t>(e.number())), loosest);
  }
  return print_at(e, loosest);
}

std::string print_list(const Expr& e) {
  std::string list;
  for (size_t i = 0; i < e.operands().size(); ++i) {
    list += (i == 0 ? "" : ", ") + print_operand(e, i, Precedence::Conditional);
  }
  return list;
}

std::string print_number(const Expr& e) {
  if (e.type() == Type::Bool) {
    return e.is_number(0) ? "false" : "true";
  }
  return e.type() == Type::Int ? fmt::format("{:.0f}", e.number()) : decimal(e.number());
}

std::string print_bare(const Expr& e) {
  const Precedence own = precedence_of(e.op());
  switch (e.op()) {
    case Op::Number:
      return print_number(e);
    case Op::Variable:
      return e.name();
    case Op::Load:
      return e.operands().empty() ? e.name() : fmt::format("{}[{}]", e.name(), print_list(e));
    case Op::Negate:
      return "-" + print_operand(e, 0, Precedence::Primary);
    case Op::Not:
      return "not " + print_operand(e, 0, own);
    case Op::Select:
      return fmt::format("{} if {} else {}", print_operand(e, 1, Precedence::Or),
                         print_operand(e, 0, Precedence::Or),
                         print_operand(e, 2, Precedence::Conditional));
    default:
      break;
  }
  if (own == Precedence::Primary) {
    return fmt::format("{}({})", spelling(e.op()), print_list(e));
  }
  // Comparisons do not chain; the others group from the left.
  const Precedence left = own == Precedence::Comparison ? tighter(own) : own;
  return fmt::format("{} {} {}", print_operand(e, 0, left), spelling(e.op()),
                     print_operand(e, 1, tighter(own)));
}

std::string print_at(const Expr& e, Precedence loosest) {
  if (e.op() == Op::ToFloat) {
    return print_at(e.operand(0), loosest);
  }
  const bool signed_number = e.is_number() && std::signbit(e.number());
  const Precedence own = signed_number ? Precedence::Unary : precedence_of(e.op());
  const std::string text = print_bare(e);
  return own < loosest ? fmt::format("({})", text) : text;
}

// What comes first of `e`, in `nodes` of them.
Expr shortened(const Expr& e, int& nodes) {
  if (nodes == 0) return variable("...", e.type());
  --nodes;
  return map_operands(e, [&](const Expr& operand) { return shortened(operand, nodes); });
}

}  // namespace

std::string print(const Expr& e) { return print_at(e, Precedence::Conditional); }

std::string print_brief(const Expr& e) {
  int nodes = 200;
  return print(shortened(e, nodes));
}

}  // namespace attngen::expr
