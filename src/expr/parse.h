// Text to expression: precedence as in Python, types inferred, names resolved in a scope.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "expr/expr.h"

namespace attngen::expr {

// What a text may name.
struct Scope {
  struct Input {
    Type element = Type::Float;
    std::vector<std::string> dims;  // {"heads", "seq_q"}: as many indices, in this order
  };
  std::map<std::string, Type, std::less<>> variables;
  std::map<std::string, Expr, std::less<>> constants;  // folded: a Number each
  std::map<std::string, Input, std::less<>> inputs;    // rank 0: the bare name, no brackets
  struct Let {
    std::string name, text;
  };
  std::vector<Let> lets;    // a name stands for its text, in parentheses; each may use those before
  bool reductions = false;  // rowmax(...) and rowsum(...) allowed
  struct Forbidden {
    std::string reason;  // "a mask cannot read it"
    std::string help;    // what to write; may be empty
  };
  // Names that exist elsewhere, with the reason why not here.
  std::map<std::string, Forbidden, std::less<>> forbidden;
  // Names that do not exist, with what to write: {"heads", "write the number"}; one that is called
  // or has indices ends in a bracket: {"ceil(", "write -floor(-x)"}. In small letters: of any case.
  std::map<std::string, std::string, std::less<>> hints;
  // Unknown names that were reported: integers, with any indices or, if they end in a bracket,
  // arguments, so that the next is found.
  std::set<std::string, std::less<>> unknown;
};

struct Error {
  enum class Of { Other, UnknownName, UnknownFunction };

  Span span;            // what the caret underlines
  std::string message;  // "unknown name 'q_pso'"
  std::string help;     // "did you mean 'q_pos'?"; may be empty
  Of of = Of::Other;
};

// Never throws; any bytes give an expression or an error.
std::variant<Expr, Error> parse(std::string_view text, const Scope& scope);

// All names in a text that gave an expression: of constants, of which that has no trace, too.
std::set<std::string> names_in(std::string_view text);

}  // namespace attngen::expr
