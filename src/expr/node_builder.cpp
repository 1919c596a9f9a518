#include "expr/node_builder.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <utility>

#include "expr/ops.h"

namespace attngen::expr {
namespace {

const Function* find_function(std::string_view name) {
  for (const Function& function : functions()) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

// A chain that grows is balanced whenever it reaches a multiple of this height: a list, however
// long, is not nested, and passes take their time for each level.
constexpr int kBalancedHeight = 64;

// Of a chain of one of these any part may be computed first.
bool is_associative(Op op) {
  return op == Op::Add || op == Op::Multiply || op == Op::And || op == Op::Or || op == Op::Min ||
         op == Op::Max;
}

void add_terms(const Expr& chain, const Expr& e, std::vector<Expr>& terms) {
  if (e.op() != chain.op() || e.type() != chain.type()) {
    terms.push_back(e);
    return;
  }
  for (const Expr& operand : e.operands()) {
    add_terms(chain, operand, terms);
  }
}

Expr balanced(Op op, std::span<const Expr> terms) {
  if (terms.size() == 1) {
    return terms.front();
  }
  const size_t half = terms.size() / 2;
  Expr left = balanced(op, terms.first(half));
  Expr right = balanced(op, terms.subspan(half));
  const Span span{left.span().begin, right.span().end};
  return make(op, {std::move(left), std::move(right)}, span);
}

}  // namespace

// clamp and where are written in terms of other operators.
std::optional<int> arity_of(std::string_view function) {
  if (function == "clamp" || function == "where") {
    return 3;
  }
  const Function* const found = find_function(function);
  return found == nullptr ? std::nullopt : std::optional(found->arity);
}

Expr NodeBuilder::counted(Expr e) {
  if (e.height() > kMaxDepth) {
    fail_too_deep(e.span(), "put parts of a long list in parentheses");
  }
  if (++nodes_ > kMaxNodes) {
    fail(e.span(), fmt::format("expression has more than {} nodes", kMaxNodes));
  }
  return e;
}

void NodeBuilder::check(Op op, const std::vector<Expr>& operands) {
  if (const auto wrong = misfit(op, operands)) {
    const bool is_bool = operands[wrong->operand].type() == Type::Bool;
    const bool is_condition = op == Op::Select && wrong->operand == 0;
    const bool number_wanted = is_bool && op != Op::Load && op != Op::Select && !is_comparison(op);
    const bool bool_wanted = op == Op::And || op == Op::Or || op == Op::Not || is_condition;
    const bool divides = op == Op::Load && operands[wrong->operand].op() == Op::Divide;
    fail(operands[wrong->operand].span(), wrong->message,
         number_wanted    ? "where(condition, 1, 0) makes a number of a bool"
         : bool_wanted    ? hint_on_condition(operands[wrong->operand], op == Op::Not)
         : divides        ? "'//' divides whole numbers"
         : is_bool        ? ""
         : op == Op::Load ? "write int(...), which is the floor"
                          : "");
  }
}

Expr NodeBuilder::build(Op op, std::vector<Expr> operands, Span span) {
  check(op, operands);
  Expr e = make(op, std::move(operands), span);
  if (e.height() % kBalancedHeight == 0 && is_associative(op)) {
    std::vector<Expr> terms;
    add_terms(e, e, terms);
    e = balanced(op, terms);
  }
  return counted(std::move(e));
}

Expr NodeBuilder::call(std::string_view function, std::vector<Expr> arguments, Span span) {
  if (function == "where") {
    return build(Op::Select, std::move(arguments), span);
  }
  if (function == "clamp") {
    Expr lower = build(Op::Max, {arguments[0], arguments[1]}, span);
    return build(Op::Min, {std::move(lower), std::move(arguments[2])}, span);
  }
  const Op op = find_function(function)->op;
  if (arguments.size() <= 2) {
    return build(op, std::move(arguments), span);
  }
  Expr result = std::move(arguments.front());
  for (size_t i = 1; i < arguments.size(); ++i) {
    result = build(op, {std::move(result), std::move(arguments[i])}, span);
  }
  return result;
}

}  // namespace attngen::expr
