// The nodes that a text is made into: their operands fit, long chains are no deep trees, and there
// are no more of them than passes can take.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "expr/failure.h"

namespace attngen::expr {

// How many arguments a function takes, the least of min and max; nothing of any other name.
std::optional<int> arity_of(std::string_view function);

// Of one text. Throws Failure, at the span of what is wrong.
class NodeBuilder {
 public:
  Expr build(Op op, std::vector<Expr> operands, Span span);
  // Of a function that arity_of knows, with as many arguments.
  Expr call(std::string_view function, std::vector<Expr> arguments, Span span);
  // Counts one that was made elsewhere.
  Expr counted(Expr e);

  static void check(Op op, const std::vector<Expr>& operands);

 private:
  int nodes_ = 0;
};

}  // namespace attngen::expr
