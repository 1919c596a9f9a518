// Operators, parentheses and numbers.
#include "expr/parse.h"

#include <fmt/format.h>

#include <cfloat>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "expr/parser.h"
#include "text/diagnostics.h"
#include "text/number.h"

namespace attngen::expr {
namespace {

// Words that are operators elsewhere.
std::string help_on_operator(std::string_view word) {
  if (word == "xor") return "between conditions, write '!='";
  if (word == "is") return "write '=='";
  return text::did_you_mean(word, {"and", "or", "if", "else"});
}

}  // namespace

Expr Parser::parse_all() {
  Expr e = parse_conditional();
  if (token_.kind != Token::Kind::End) {
    fail_unexpected_operator("an operator or the end");
  }
  return e;
}

void Parser::fail_unexpected(std::string_view expected, std::string help) const {
  const std::string got = token_.kind == Token::Kind::End
                              ? "the end of the expression"
                              : fmt::format("'{}'", token_.text.substr(0, 40));
  fail(token_.span, fmt::format("expected {}, got {}", expected, got), std::move(help));
}

void Parser::fail_unexpected_operator(std::string_view expected) const {
  fail_unexpected(expected, token_.kind == Token::Kind::Name ? help_on_operator(token_.text) : "");
}

Expr Parser::parse_conditional() {
  const Nesting nesting(*this);
  const uint32_t begin = token_.span.begin;
  Expr value = parse_binary(Precedence::Or);
  if (!accept("if")) {
    return value;
  }
  Expr condition = parse_binary(Precedence::Or);
  if (!accept("else")) {
    fail_unexpected_operator("'else'");
  }
  Expr otherwise = parse_conditional();
  return nodes_.build(Op::Select, {std::move(condition), std::move(value), std::move(otherwise)},
                      since(begin));
}

std::optional<Op> Parser::binary_operator() const {
  if (token_.kind != Token::Kind::Symbol && token_.kind != Token::Kind::Name) {
    return std::nullopt;
  }
  for (auto op = Op::Add; op <= Op::Or; op = static_cast<Op>(static_cast<uint8_t>(op) + 1)) {
    if (spelling(op) == token_.text) {
      return op;
    }
  }
  return std::nullopt;
}

Expr Parser::parse_binary(Precedence loosest) {
  const uint32_t begin = token_.span.begin;
  Expr left = parse_operand(loosest);
  bool compared = false;
  for (;;) {
    const std::optional<Op> op = binary_operator();
    if (!op || precedence_of(*op) < loosest) {
      return left;
    }
    if (compared && is_comparison(*op)) {
      fail(token_.span, "comparisons do not chain", "write 'a < b and b < c'");
    }
    compared = is_comparison(*op);
    advance();
    Expr right = parse_binary(tighter(precedence_of(*op)));
    left = nodes_.build(*op, {std::move(left), std::move(right)}, since(begin));
  }
}

Expr Parser::parse_operand(Precedence loosest) {
  const Token token = token_;
  if (at("not")) {
    if (loosest > Precedence::Not) {
      fail(token.span, "'not' needs parentheses here", "write '(not ...)'");
    }
    const Nesting nesting(*this);
    advance();
    Expr operand = parse_binary(Precedence::Not);
    return nodes_.build(Op::Not, {std::move(operand)}, since(token.span.begin));
  }
  if (at("-") || at("+")) {
    const Nesting nesting(*this);
    advance();
    if (token.text == "-" && token_.kind == Token::Kind::Number && token_.text == "2147483648") {
      advance();  // the least i32, whose opposite is none
      return nodes_.counted(integer(std::numeric_limits<int32_t>::min(), since(token.span.begin)));
    }
    Expr operand = parse_operand(Precedence::Unary);
    NodeBuilder::check(Op::Negate, {operand});
    return token.text == "+"
               ? operand
               : nodes_.build(Op::Negate, {std::move(operand)}, since(token.span.begin));
  }
  return parse_primary();
}

Expr Parser::parse_primary() {
  switch (token_.kind) {
    case Token::Kind::Number:
      return parse_number();
    case Token::Kind::Name:
      return parse_named();
    case Token::Kind::Symbol:
      if (at("(")) {
        return parse_parenthesised();
      }
      break;
    case Token::Kind::End:
      break;
  }
  fail_unexpected("an expression");
}

void Parser::close(std::string_view closer, Span opener) {
  if (accept(closer)) {
    return;
  }
  if (token_.kind == Token::Kind::End) {
    fail(opener, fmt::format("'{}' is not closed", closer == ")" ? "(" : "["),
         fmt::format("add '{}'", closer));
  }
  fail_unexpected_operator(fmt::format("an operator or '{}'", closer));
}

Expr Parser::parse_parenthesised() {
  const Span opener = token_.span;
  advance();
  Expr e = parse_conditional();
  close(")", opener);
  return e;
}

Expr Parser::parse_number() {
  const Token token = token_;
  advance();
  const double value = text::nearest_double(token.text);
  const bool is_int = token.text.find_first_of(".eE") == std::string_view::npos;
  if (is_int && value > std::numeric_limits<int32_t>::max()) {
    fail(token.span, "integer does not fit in i32", "add '.0' to make it an f32");
  }
  if (value > FLT_MAX) {
    fail(token.span, "number does not fit in f32");
  }
  if (value != 0 && !is_normal_float(value)) {  // kernels take such for 0
    fail(token.span, "number is too small for f32, whose least is 1.18e-38");
  }
  return nodes_.counted(is_int ? integer(static_cast<int64_t>(value), token.span)
                               : number(value, token.span));
}

std::vector<Expr> Parser::parse_list(std::string_view closer, Span opener) {
  std::vector<Expr> items;
  if (accept(closer)) {
    return items;
  }
  do {
    items.push_back(parse_conditional());
  } while (accept(","));
  close(closer, opener);
  return items;
}

std::variant<Expr, Error> parse(std::string_view text, const Scope& scope) {
  try {
    return Parser(text, scope).parse_all();
  } catch (Failure& failure) {
    return std::move(failure.error);
  }
}

std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> names;
  Lexer lexer(text);
  for (Token token = lexer.next(); token.kind != Token::Kind::End; token = lexer.next()) {
    if (token.kind == Token::Kind::Name) {
      names.emplace(token.text);
    }
  }
  return names;
}

}  // namespace attngen::expr
