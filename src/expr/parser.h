// The machinery of parse(): recursive descent, a function for each level of precedence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/lexer.h"
#include "expr/node_builder.h"
#include "expr/ops.h"
#include "expr/parse.h"

namespace attngen::expr {

class Parser {
 public:
  Parser(std::string_view text, const Scope& scope)
      : text_(text), lexer_(text), scope_(scope), lets_(scope.lets) {
    advance();
  }

  Expr parse_all();

 private:
  // Of a name's text, within `outer`, at the name: its nodes and its depth count on, and all of it
  // stands where the name does.
  Parser(const Parser& outer, const Token& name, const Scope::Let& let)
      : text_(let.text),
        lexer_(let.text),
        scope_(outer.scope_),
        lets_(outer.lets_.data(), &let),
        place_(name.span),
        depth_(outer.depth_),
        nodes_(outer.nodes_),
        reduction_(outer.reduction_) {
    advance();
  }

  // Counts one level of nesting while it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth) {
        fail_too_deep(parser_.token_.span);
      }
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  void advance() {
    last_end_ = token_.span.end;
    token_ = lexer_.next();
    if (place_) token_.span = *place_;
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

  // parse.cpp. A token that is none of `expected`; one that should have been an operator.
  [[noreturn]] void fail_unexpected(std::string_view expected, std::string help = {}) const;
  [[noreturn]] void fail_unexpected_operator(std::string_view expected) const;
  std::optional<Op> binary_operator() const;
  Expr parse_conditional();
  Expr parse_binary(Precedence loosest);
  Expr parse_operand(Precedence loosest);
  Expr parse_primary();
  Expr parse_parenthesised();
  Expr parse_number();
  std::vector<Expr> parse_list(std::string_view closer, Span opener);
  void close(std::string_view closer, Span opener);

  // parse_names.cpp
  Expr parse_named();
  Expr value_of(const Token& name);
  Expr parse_let(const Token& name, const Scope::Let& let);
  Expr parse_call(const Token& name);
  Expr parse_load(const Token& name, const Scope::Input& input);
  Expr parse_unknown(const Token& name);
  [[noreturn]] void fail_indices(const Token& name, const Scope::Input& input,
                                 const std::vector<Expr>& indices, Span span) const;
  std::string help_on_called(const Token& name) const;
  std::vector<std::string> names_near(bool call) const;
  [[noreturn]] void fail_unknown(const Token& name, bool call) const;

  std::string_view text_;
  Lexer lexer_;
  const Scope& scope_;
  std::span<const Scope::Let> lets_;  // that the text may use
  std::optional<Span> place_;         // of all tokens, in a name's text
  Token token_;                       // the next, not yet taken
  uint32_t last_end_ = 0;             // of the token taken last
  int depth_ = 0;
  NodeBuilder nodes_;
  std::string reduction_;  // "rowmax" inside its argument
};

}  // namespace attngen::expr
