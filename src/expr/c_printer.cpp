// Operators, as far as C has them, and leaves.
#include "expr/c_printer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "expr/decimal.h"

namespace attngen::expr {
namespace {

// Whether its last operation is no multiplication, which the compiler would make one with a sum.
bool ends_without_product(const Expr& e) {
  switch (e.op()) {
    case Op::Number:
    case Op::Variable:
    case Op::Load:
    case Op::ToFloat:
    case Op::Add:
    case Op::Subtract:
    case Op::Abs:
    case Op::Floor:
    case Op::Min:
    case Op::Max:
    case Op::Log2:
    case Op::Relu:
      return true;
    case Op::Negate:
      return ends_without_product(e.operand(0));
    default:
      return false;
  }
}

}  // namespace

Text CPrinter::print(const Expr& e) {
  if (wide_ && !is_sum(e.op())) {
    return print_term(e);
  }
  if (const auto found = named_.find(e.identity()); found != named_.end()) {
    return {found->second};
  }
  if (is_comparison(e.op())) {
    return infix(e, spelling(e.op()));
  }
  switch (e.op()) {
    case Op::Number:
      return print_number(e);
    case Op::Variable:
      return {names_.variable ? names_.variable(e.name()) : e.name()};
    case Op::Load:
      return print_load(e);
    case Op::Negate:
      return print_unary(e, '-');
    case Op::Not:
      return print_unary(e, '!');
    case Op::Add:
    case Op::Subtract:
      return print_sum(e);
    case Op::Multiply:
      return infix(e, spelling(e.op()));
    case Op::Divide:
      return print_divide(e);
    case Op::FloorDivide:
    case Op::Modulo:
      return e.type() == Type::Int ? print_integer_division(e) : print_float_division(e);
    case Op::And:
    case Op::Or:
      return print_logic(e);
    case Op::Select:
      return print_select(e);
    case Op::ToFloat:
      return print_conversion(e);
    case Op::Min:
    case Op::Max:
      return print_extremum(e);
    case Op::Exp:
      return print_exp(e);
    case Op::Pow:
      return print_power(e);
    case Op::Saturate:
      return print_saturated(e);
    default:
      return print_function(e);
  }
}

Text CPrinter::call(const std::string& function, const Expr& e) {
  std::string arguments;
  for (const Expr& operand : e.operands()) {
    arguments += (arguments.empty() ? "" : ", ") + argument(operand);
  }
  return {fmt::format("{}({})", function, arguments)};
}

Text CPrinter::infix(const Expr& e, std::string_view symbol) {
  const Precedence own = precedence_of(e.op());
  const Precedence left = own == Precedence::Comparison ? tighter(own) : own;
  return {fmt::format("{} {} {}", at(e.operand(0), left), symbol, at(e.operand(1), tighter(own))),
          own};
}

std::string CPrinter::literal(double value) const {
  return device_ || !std::isfinite(value) ? float_literal(value) : decimal(value);
}

Text CPrinter::print_number(const Expr& e) const {
  const Precedence own = std::signbit(e.number()) ? Precedence::Unary : Precedence::Primary;
  switch (e.type()) {
    case Type::Bool:
      return {device_ ? (e.is_number(0) ? "false" : "true") : (e.is_number(0) ? "0" : "1")};
    case Type::Int:
      if (e.is_number(std::numeric_limits<int32_t>::min())) {
        return {"(-2147483647 - 1)"};  // C takes the whole of it for a long
      }
      return {fmt::format("{:.0f}", e.number()), own};
    case Type::Float:
      break;
  }
  return {literal(e.number()), own};
}

Text CPrinter::print_load(const Expr& e) {
  std::vector<std::string> indices;
  for (const Expr& index : e.operands()) {
    indices.push_back(argument(index));
  }
  if (names_.load) {
    return {names_.load(e, indices)};
  }
  std::string text = e.name();
  for (const std::string& index : indices) {
    text += "[" + index + "]";
  }
  return {text};
}

Text CPrinter::print_unary(const Expr& e, char symbol) {
  const std::string operand = at(e.operand(0), Precedence::Unary);
  // Two minus signs would be a decrement.
  const bool clash = operand.front() == symbol;
  return {clash ? fmt::format("{}({})", symbol, operand) : symbol + operand, Precedence::Unary};
}

Text CPrinter::print_sum(const Expr& e) {
  const bool fuses = device_ && rounded_apart_.contains(e) && e.type() == Type::Float &&
                     !(ends_without_product(e.operand(0)) && ends_without_product(e.operand(1)));
  if (fuses) return call(e.op() == Op::Add ? "__fadd_rn" : "__fsub_rn", e);
  return infix(e, spelling(e.op()));
}

// saturate(int64_t{start} + int64_t{length} * 64): the host's Ints are wide already.
Text CPrinter::print_saturated(const Expr& e) {
  wide_ = device_;
  Text text = call("saturate", e);
  wide_ = false;
  return text;
}

Text CPrinter::print_term(const Expr& e) {
  wide_ = false;
  Text text = print(e);
  wide_ = true;
  if (e.is_number()) {
    return text;
  }
  return {"int64_t{" + text.text + "}"};
}

Text CPrinter::print_select(const Expr& e) {
  return {fmt::format("{} ? {} : {}", at(e.operand(0), Precedence::Or),
                      at(e.operand(1), Precedence::Or), at(e.operand(2), Precedence::Conditional)),
          Precedence::Conditional};
}

// Compilers warn about && inside ||, and about comparisons inside &, without parentheses.
Text CPrinter::print_logic(const Expr& e) {
  const std::string_view sign = e.op() == Op::And ? "&&" : "||";
  const Precedence within = names_.eager ? Precedence::Unary : tighter(Precedence::And);
  const auto side = [&](size_t i) {
    const Expr& operand = e.operand(i);
    return at(operand, operand.op() == e.op() && i == 0 ? precedence_of(e.op()) : within);
  };
  return {fmt::format("{} {} {}", side(0), names_.eager ? sign.substr(1) : sign, side(1)),
          precedence_of(e.op())};
}

Text CPrinter::print_conversion(const Expr& e) {
  if (device_) {
    return {fmt::format("float({})", argument(e.operand(0)))};
  }
  return {fmt::format("(double){}", at(e.operand(0), Precedence::Primary)), Precedence::Unary};
}

}  // namespace attngen::expr
