#include "expr/simplify.h"

#include <map>
#include <vector>

#include "expr/simplifier.h"

namespace attngen::expr {
namespace {

using Replacements = std::map<std::string, Expr, std::less<>>;

Expr substitute_in(const Expr& e, const Replacements& replacements,
                   std::map<const void*, Expr>& done) {
  if (e.op() == Op::Variable) {
    const auto found = replacements.find(e.name());
    if (found == replacements.end()) {
      return e;
    }
    return e.type() == Type::Float ? make(Op::ToFloat, {found->second}, e.span()) : found->second;
  }
  if (e.operands().empty()) {
    return e;
  }
  if (const auto found = done.find(e.identity()); found != done.end()) {
    return found->second;
  }
  std::vector<Expr> operands;
  bool changed = false;
  for (const Expr& operand : e.operands()) {
    operands.push_back(substitute_in(operand, replacements, done));
    changed = changed || operands.back().identity() != operand.identity();
  }
  Expr result = changed ? with_operands(e, std::move(operands)) : e;
  done.emplace(e.identity(), result);
  return result;
}

}  // namespace

Expr simplify(const Expr& e) { return Simplifier().simplify(e); }

Expr substitute(const Expr& e, const Replacements& replacements) {
  std::map<const void*, Expr> done;
  return substitute_in(e, replacements, done);
}

}  // namespace attngen::expr
