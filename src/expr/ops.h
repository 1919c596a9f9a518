// What the passes share about operators: names, precedence, and which operands fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "expr/expr.h"

namespace attngen::expr {

// A function of the language that is an operator of its own (clamp and where are not).
struct Function {
  std::string_view name;
  Op op;
  int arity;
};
std::span<const Function> functions();

// As errors and printed text spell it: "+", "and", "exp"; "if" for Select.
std::string_view spelling(Op op);

// Binding strength, loosest first, as in Python.
enum class Precedence : uint8_t {
  Conditional,
  Or,
  And,
  Not,
  Comparison,
  Sum,
  Product,
  Unary,
  Primary,
};
Precedence precedence_of(Op op);
// The next tighter one; not of Primary.
inline Precedence tighter(Precedence p) {
  return static_cast<Precedence>(static_cast<uint8_t>(p) + 1);
}

// Why the operands do not fit, "'and' needs bool operands, got f32", and which is the first that
// does not; nothing when they do. The number of operands is the caller's.
struct Misfit {
  std::string message;
  size_t operand = 0;
};
std::optional<Misfit> misfit(Op op, std::span<const Expr> operands);

// What to write where the number `e` stands in the place of a condition (`negated`: of a `not`).
std::string hint_on_condition(const Expr& e, bool negated = false);

// The exponent of a Pow that repeated multiplication does best; 0 when it is not such a one.
int small_exponent(const Expr& power);

bool is_comparison(Op op);
// +, -, * and the sign: what a sum of multiples is made of.
bool is_sum(Op op);

}  // namespace attngen::expr
