// The machinery of print_c(): the text of a node, from those of its operands and how tightly they
// bind.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "expr/ops.h"
#include "expr/print.h"
#include "expr/rounded_apart.h"

namespace attngen::expr {

struct Text {
  std::string text;
  Precedence precedence = Precedence::Primary;
};

inline std::string in_parentheses(const Text& text, Precedence loosest) {
  return text.precedence < loosest ? "(" + text.text + ")" : text.text;
}

class CPrinter {
 public:
  CPrinter(const Expr& whole, Dialect dialect, const Names& names)
      : device_(dialect == Dialect::Device),
        names_(names),
        rounded_apart_(whole, names.inexact, names.exact) {}

  Text print(const Expr& e);
  void name_subtree(const Expr& e, std::string name) { named_[e.identity()] = std::move(name); }

 private:
  // c_printer.cpp
  std::string at(const Expr& e, Precedence loosest) { return in_parentheses(print(e), loosest); }
  std::string argument(const Expr& e) { return at(e, Precedence::Conditional); }
  Text call(const std::string& function, const Expr& e);
  Text infix(const Expr& e, std::string_view symbol);
  std::string literal(double value) const;
  Text print_number(const Expr& e) const;
  Text print_load(const Expr& e);
  Text print_unary(const Expr& e, char symbol);
  Text print_sum(const Expr& e);
  Text print_saturated(const Expr& e);
  Text print_term(const Expr& e);
  Text print_select(const Expr& e);
  Text print_logic(const Expr& e);
  Text print_conversion(const Expr& e);

  // c_printer_functions.cpp
  Text print_divide(const Expr& e);
  Text rounded_quotient(const Expr& e);
  Text print_integer_division(const Expr& e);
  Text print_float_division(const Expr& e);
  Text print_exp(const Expr& e);
  Text print_power(const Expr& e);
  Text print_extremum(const Expr& e);
  Text print_function(const Expr& e);
  std::string logarithm(const Expr& e, std::string_view name) const;
  std::string root(const Expr& e) const;

  bool device_;
  const Names& names_;
  RoundedApart rounded_apart_;
  bool wide_ = false;  // within a sum that is taken in 64 bits
  std::map<const void*, std::string> named_;
};

}  // namespace attngen::expr
