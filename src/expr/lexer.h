// The tokens of an expression's text.
#pragma once

#include <string_view>

#include "expr/failure.h"

namespace attngen::expr {

struct Token {
  enum class Kind : uint8_t { End, Number, Name, Symbol };
  Kind kind = Kind::End;
  std::string_view text;  // into the lexed text; empty at the end
  Span span;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  // Throws Failure at bytes that begin no token.
  Token next();

 private:
  Token take(Token::Kind kind, size_t length);
  Token take_number();
  Token take_symbol();
  [[noreturn]] void fail(size_t length, std::string message, std::string help = {}) const;

  std::string_view text_;
  size_t at_ = 0;
  int brackets_ = 0;  // [ that are not closed
};

}  // namespace attngen::expr
