#include "expr/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "expr/lexer.h"
#include "expr/ops.h"
#include "text/characters.h"
#include "text/diagnostics.h"
#include "text/number.h"

namespace attngen::expr {
namespace {

std::string plural(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : ", ") + word;
  }
  return out;
}

const Function* find_function(std::string_view name) {
  for (const Function& function : functions()) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

// clamp and where are written in terms of other operators.
std::optional<int> arity_of(std::string_view name) {
  if (name == "clamp" || name == "where") {
    return 3;
  }
  const Function* function = find_function(name);
  return function == nullptr ? std::nullopt : std::optional(function->arity);
}

// Words that are operators elsewhere.
std::string help_on_operator(std::string_view word) {
  if (word == "xor") return "between conditions, write '!='";
  if (word == "is") return "write '=='";
  return text::did_you_mean(word, {"and", "or", "if", "else"});
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

class Parser {
 public:
  Parser(std::string_view text, const Scope& scope) : text_(text), lexer_(text), scope_(scope) {
    advance();
  }

  Expr parse_all() {
    Expr e = parse_conditional();
    if (token_.kind != Token::Kind::End) {
      fail_unexpected_operator("an operator or the end");
    }
    return e;
  }

 private:
  // Counts one level of nesting while it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth) {
        parser_.fail_too_deep(parser_.token_.span);
      }
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] static void fail(Span span, std::string message, std::string help = {}) {
    throw Failure{{span, std::move(message), std::move(help)}};
  }
  [[noreturn]] static void fail_too_deep(Span span, std::string help = {}) {
    fail(span, fmt::format("expression is nested deeper than {}", kMaxDepth), std::move(help));
  }
  [[noreturn]] void fail_unexpected(std::string_view expected, std::string help = {}) const {
    const std::string got = token_.kind == Token::Kind::End
                                ? "the end of the expression"
                                : fmt::format("'{}'", token_.text.substr(0, 40));
    fail(token_.span, fmt::format("expected {}, got {}", expected, got), std::move(help));
  }
  // Where the next token should have been a word or another operator.
  [[noreturn]] void fail_unexpected_operator(std::string_view expected) const {
    fail_unexpected(expected,
                    token_.kind == Token::Kind::Name ? help_on_operator(token_.text) : "");
  }

  void advance() {
    last_end_ = token_.span.end;
    token_ = lexer_.next();
  }
  bool at(std::string_view text) const {
    return token_.kind != Token::Kind::Number && token_.kind != Token::Kind::End &&
           token_.text == text;
  }
  bool accept(std::string_view text) {
    const bool found = at(text);
    if (found) {
      advance();
    }
    return found;
  }
  Span since(uint32_t begin) const { return {begin, last_end_}; }

  Expr counted(Expr e) {
    if (e.height() > kMaxDepth) {
      fail_too_deep(e.span(), "put parts of a long list in parentheses");
    }
    if (++nodes_ > kMaxNodes) {
      fail(e.span(), fmt::format("expression has more than {} nodes", kMaxNodes));
    }
    return e;
  }
  void check(Op op, const std::vector<Expr>& operands) const {
    if (const auto wrong = misfit(op, operands)) {
      const bool is_bool = operands[wrong->operand].type() == Type::Bool;
      const bool is_condition = op == Op::Select && wrong->operand == 0;
      const bool number_wanted =
          is_bool && op != Op::Load && op != Op::Select && !is_comparison(op);
      const bool bool_wanted = op == Op::And || op == Op::Or || op == Op::Not || is_condition;
      fail(operands[wrong->operand].span(), wrong->message,
           number_wanted ? "where(condition, 1, 0) makes a number of a bool"
           : bool_wanted ? "compare it with something"
                         : "");
    }
  }
  Expr build(Op op, std::vector<Expr> operands, Span span) {
    check(op, operands);
    Expr e = make(op, std::move(operands), span);
    if (e.height() % kBalancedHeight == 0 && is_associative(op)) {
      std::vector<Expr> terms;
      add_terms(e, e, terms);
      e = balanced(op, terms);
    }
    return counted(std::move(e));
  }

  std::optional<Op> binary_operator() const;
  Expr parse_conditional();
  Expr parse_binary(Precedence loosest);
  Expr parse_operand(Precedence loosest);
  Expr parse_primary();
  Expr parse_parenthesised();
  Expr parse_number();
  Expr parse_named();
  Expr parse_call(const Token& name);
  Expr parse_load(const Token& name, const Scope::Input& input);
  [[noreturn]] void fail_indices(const Token& name, const Scope::Input& input,
                                 const std::vector<Expr>& indices, Span span) const;
  std::vector<Expr> parse_list(std::string_view closer, Span opener);
  Expr build_call(std::string_view name, std::vector<Expr> arguments, Span span);
  void close(std::string_view closer, Span opener);
  std::vector<std::string> names_near(bool call) const;
  [[noreturn]] void fail_unknown(const Token& name, bool call) const;

  std::string_view text_;
  Lexer lexer_;
  const Scope& scope_;
  Token token_;            // the next, not yet taken
  uint32_t last_end_ = 0;  // of the token taken last
  int depth_ = 0;
  int nodes_ = 0;
  std::string reduction_;  // "rowmax" inside its argument
};

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
  return build(Op::Select, {std::move(condition), std::move(value), std::move(otherwise)},
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
    left = build(*op, {std::move(left), std::move(right)}, since(begin));
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
    return build(Op::Not, {std::move(operand)}, since(token.span.begin));
  }
  if (at("-") || at("+")) {
    const Nesting nesting(*this);
    advance();
    if (token.text == "-" && token_.kind == Token::Kind::Number && token_.text == "2147483648") {
      advance();  // the least i32, whose opposite is none
      return counted(integer(std::numeric_limits<int32_t>::min(), since(token.span.begin)));
    }
    Expr operand = parse_operand(Precedence::Unary);
    check(Op::Negate, {operand});
    return token.text == "+" ? operand
                             : build(Op::Negate, {std::move(operand)}, since(token.span.begin));
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
  return counted(is_int ? integer(static_cast<int64_t>(value), token.span)
                        : number(value, token.span));
}

// The names that a function, a load or a value may be meant to have.
std::vector<std::string> Parser::names_near(bool call) const {
  std::vector<std::string> names;
  const auto add = [&](const auto& known) {
    for (const auto& entry : known) {
      names.push_back(entry.first);
    }
  };
  if (call) {
    names = {"clamp", "where", "not"};
    for (const Function& function : functions()) {
      names.emplace_back(function.name);
    }
    return names;
  }
  add(scope_.inputs);
  if (!at("[")) {
    names.insert(names.end(), {"true", "false", "not"});
    add(scope_.variables);
    add(scope_.constants);
  }
  return names;
}

void Parser::fail_unknown(const Token& name, bool call) const {
  const auto hint = scope_.hints.find(text::lower(name.text) + (call ? "(" : ""));
  throw Failure{
      {name.span,
       fmt::format("unknown {} '{}'", call ? "function" : "name", text::shortened(name.text, 64)),
       hint != scope_.hints.end() ? hint->second : text::did_you_mean(name.text, names_near(call)),
       !call}};
}

Expr Parser::parse_named() {
  const Token name = token_;
  for (const std::string_view keyword : {"and", "or", "not", "if", "else"}) {
    if (name.text == keyword) {
      fail_unexpected("an expression");
    }
  }
  advance();
  if (at("(")) {
    return parse_call(name);
  }
  if (const auto input = scope_.inputs.find(name.text); input != scope_.inputs.end()) {
    return parse_load(name, input->second);
  }
  Expr e;
  if (name.text == "true" || name.text == "false") {
    e = boolean(name.text == "true", name.span);
  } else if (const auto known = scope_.variables.find(name.text); known != scope_.variables.end()) {
    e = variable(known->first, known->second, name.span);
  } else if (const auto value = scope_.constants.find(name.text); value != scope_.constants.end()) {
    Node node;
    node.type = value->second.type();
    node.number = value->second.number();
    node.span = name.span;
    e = make_node(std::move(node));
  } else if (const auto reason = scope_.forbidden.find(name.text);
             reason != scope_.forbidden.end()) {
    fail(name.span, fmt::format("'{}' is not allowed here: {}", name.text, reason->second));
  } else if (const auto arity = arity_of(name.text)) {
    fail(name.span, fmt::format("'{}' is a function", name.text),
         fmt::format("call it with {}",
                     plural(static_cast<size_t>(*arity), "argument", "arguments in parentheses")));
  } else {
    fail_unknown(name, false);
  }
  if (at("[")) {
    fail(token_.span, fmt::format("'{}' has no indices", name.text));
  }
  return counted(e);
}

Expr Parser::parse_load(const Token& name, const Scope::Input& input) {
  std::vector<Expr> indices;
  const uint32_t begin = token_.span.begin;
  int brackets = 0;
  for (; at("["); ++brackets) {
    const Span opener = token_.span;
    advance();
    const std::vector<Expr> more = parse_list("]", opener);
    indices.insert(indices.end(), more.begin(), more.end());
  }
  if (brackets > 1 || indices.size() != input.dims.size()) {
    fail_indices(name, input, indices, indices.empty() ? name.span : since(begin));
  }
  check(Op::Load, indices);
  return counted(
      load(std::string(name.text), input.element, std::move(indices), since(name.span.begin)));
}

// Too few or too many, or right but in brackets of their own, as in C: t[h][kv_idx].
void Parser::fail_indices(const Token& name, const Scope::Input& input,
                          const std::vector<Expr>& indices, Span span) const {
  const size_t rank = input.dims.size();
  const std::string needed =
      rank == 0
          ? "is a scalar"
          : fmt::format("needs {} [{}]", plural(rank, "index", "indices"), joined(input.dims));
  if (indices.size() != rank || rank == 0) {
    fail(span, fmt::format("input '{}' {}, got {}", name.text, needed,
                           indices.empty() ? "none" : plural(indices.size(), "index", "indices")));
  }
  std::vector<std::string> words;
  for (const Expr& index : indices) {
    const auto [begin, end] = index.span();
    words.push_back(text::one_line(text_.substr(begin, end - begin)));
  }
  fail(span, fmt::format("input '{}' {} in one pair of brackets", name.text, needed),
       text::shortened(fmt::format("write {}[{}]", name.text, joined(words)), 200));
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

Expr Parser::parse_call(const Token& name) {
  const std::optional<int> arity = arity_of(name.text);
  if (!arity) {
    if (scope_.variables.contains(name.text) || scope_.constants.contains(name.text) ||
        scope_.inputs.contains(name.text)) {
      fail(name.span, fmt::format("'{}' is not a function", name.text));
    }
    fail_unknown(name, true);
  }
  const bool reduces = name.text == "rowmax" || name.text == "rowsum";
  if (reduces && !scope_.reductions) {
    fail(name.span, fmt::format("'{}' is not allowed here", name.text),
         "only the rows of 'normalize' reduce over pairs");
  }
  if (reduces && !reduction_.empty()) {
    fail(name.span, fmt::format("'{}' inside '{}'", name.text, reduction_),
         "name the inner one as a row of its own, above");
  }
  if (reduces) {
    reduction_ = name.text;
  }
  const Span opener = token_.span;
  advance();
  std::vector<Expr> arguments = parse_list(")", opener);
  if (reduces) {
    reduction_.clear();
  }
  const bool any_number = name.text == "min" || name.text == "max";
  const auto wanted = static_cast<size_t>(*arity);
  if (any_number ? arguments.size() < wanted : arguments.size() != wanted) {
    fail(since(name.span.begin),
         fmt::format("{} takes {}{}, got {}", name.text, any_number ? "at least " : "",
                     plural(wanted, "argument", "arguments"), arguments.size()));
  }
  return build_call(name.text, std::move(arguments), since(name.span.begin));
}

Expr Parser::build_call(std::string_view name, std::vector<Expr> arguments, Span span) {
  if (name == "where") {
    return build(Op::Select, std::move(arguments), span);
  }
  if (name == "clamp") {
    Expr lower = build(Op::Max, {arguments[0], arguments[1]}, span);
    return build(Op::Min, {std::move(lower), std::move(arguments[2])}, span);
  }
  const Op op = find_function(name)->op;
  if (arguments.size() <= 2) {
    return build(op, std::move(arguments), span);
  }
  Expr result = std::move(arguments.front());
  for (size_t i = 1; i < arguments.size(); ++i) {
    result = build(op, {std::move(result), std::move(arguments[i])}, span);
  }
  return result;
}

}  // namespace

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
