#include "expr/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "expr/print.h"

namespace attngen::expr {
namespace {

constexpr std::array kFunctions = {
    Function{"abs", Op::Abs, 1},         Function{"min", Op::Min, 2},
    Function{"max", Op::Max, 2},         Function{"exp", Op::Exp, 1},
    Function{"exp2", Op::Exp2, 1},       Function{"log", Op::Log, 1},
    Function{"log2", Op::Log2, 1},       Function{"sqrt", Op::Sqrt, 1},
    Function{"rsqrt", Op::Rsqrt, 1},     Function{"tanh", Op::Tanh, 1},
    Function{"sigmoid", Op::Sigmoid, 1}, Function{"relu", Op::Relu, 1},
    Function{"square", Op::Square, 1},   Function{"pow", Op::Pow, 2},
    Function{"erf", Op::Erf, 1},         Function{"gelu", Op::Gelu, 1},
    Function{"silu", Op::Silu, 1},       Function{"sin", Op::Sin, 1},
    Function{"cos", Op::Cos, 1},         Function{"floor", Op::Floor, 1},
    Function{"int", Op::ToInt, 1},       Function{"sign", Op::Sign, 1},
    Function{"rowmax", Op::RowMax, 1},   Function{"rowsum", Op::RowSum, 1},
};

// The first operand that is a bool, or that is none.
std::optional<size_t> find_operand(std::span<const Expr> operands, bool is_bool) {
  const auto found = std::ranges::find_if(
      operands, [&](const Expr& operand) { return (operand.type() == Type::Bool) == is_bool; });
  if (found == operands.end()) return std::nullopt;
  return static_cast<size_t>(found - operands.begin());
}

// All bools or all numbers.
bool are_alike(std::span<const Expr> operands) {
  return !find_operand(operands, true) || !find_operand(operands, false);
}

}  // namespace

std::span<const Function> functions() { return kFunctions; }

std::string_view spelling(Op op) {
  switch (op) {
    case Op::Number:
    case Op::Variable:
    case Op::Load:
    case Op::ToFloat:
      return "";
    case Op::Negate:
    case Op::Subtract:
      return "-";
    case Op::Add:
      return "+";
    case Op::Multiply:
      return "*";
    case Op::Divide:
      return "/";
    case Op::FloorDivide:
      return "//";
    case Op::Modulo:
      return "%";
    case Op::Less:
      return "<";
    case Op::LessEqual:
      return "<=";
    case Op::Greater:
      return ">";
    case Op::GreaterEqual:
      return ">=";
    case Op::Equal:
      return "==";
    case Op::NotEqual:
      return "!=";
    case Op::And:
      return "and";
    case Op::Or:
      return "or";
    case Op::Not:
      return "not";
    case Op::Select:
      return "if";
    case Op::Saturate:
      return "saturate";
    default:
      break;
  }
  for (const Function& function : kFunctions) {
    if (function.op == op) {
      return function.name;
    }
  }
  return "";
}

bool is_comparison(Op op) { return op >= Op::Less && op <= Op::NotEqual; }

bool is_sum(Op op) { return op >= Op::Negate && op <= Op::Multiply; }

Precedence precedence_of(Op op) {
  if (is_comparison(op)) {
    return Precedence::Comparison;
  }
  switch (op) {
    case Op::Select:
      return Precedence::Conditional;
    case Op::Or:
      return Precedence::Or;
    case Op::And:
      return Precedence::And;
    case Op::Not:
      return Precedence::Not;
    case Op::Add:
    case Op::Subtract:
      return Precedence::Sum;
    case Op::Multiply:
    case Op::Divide:
    case Op::FloorDivide:
    case Op::Modulo:
      return Precedence::Product;
    case Op::Negate:
      return Precedence::Unary;
    default:
      return Precedence::Primary;
  }
}

std::optional<Misfit> misfit(Op op, std::span<const Expr> operands) {
  const auto got = [&](size_t i) { return name_of(operands[i].type()); };
  switch (op) {
    case Op::Number:
    case Op::Variable:
      return std::nullopt;
    case Op::Load:
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].type() != Type::Int) {
          return Misfit{fmt::format("an index must be i32, got {}", got(i)), i};
        }
      }
      return std::nullopt;
    case Op::And:
    case Op::Or:
    case Op::Not:
      if (const auto i = find_operand(operands, false)) {
        const char* what = op == Op::Not ? "a bool operand" : "bool operands";
        return Misfit{fmt::format("'{}' needs {}, got {}", spelling(op), what, got(*i)), *i};
      }
      return std::nullopt;
    case Op::Select:
      if (operands[0].type() != Type::Bool) {
        return Misfit{fmt::format("a condition must be bool, got {}", got(0)), 0};
      }
      if (!are_alike(operands.subspan(1))) {
        return Misfit{
            fmt::format("both values must be bool or both numbers, got {} and {}", got(1), got(2)),
            2};
      }
      return std::nullopt;
    case Op::Equal:
    case Op::NotEqual:
      if (!are_alike(operands)) {
        return Misfit{fmt::format("'{}' needs both operands bool or both numbers, got {} and {}",
                                  spelling(op), got(0), got(1)),
                      1};
      }
      return std::nullopt;
    default:
      if (const auto i = find_operand(operands, true)) {
        const char* what = operands.size() == 1 ? "a number" : "numbers";
        return Misfit{fmt::format("'{}' needs {}, got bool", spelling(op), what), *i};
      }
      return std::nullopt;
  }
}

std::string hint_on_condition(const Expr& e, bool negated) {
  // An input's element is mostly a flag.
  if (e.op() != Op::Load) return "compare it with something";
  return fmt::format("write {} {} 0", print_brief(e), negated ? "==" : "!=");
}

int small_exponent(const Expr& power) {
  constexpr double kLargest = 16;
  const Expr& exponent = power.operand(1);
  const bool small = exponent.is_number() && exponent.number() == std::floor(exponent.number()) &&
                     std::fabs(exponent.number()) <= kLargest;
  return small ? static_cast<int>(exponent.number()) : 0;
}

}  // namespace attngen::expr
