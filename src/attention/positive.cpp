#include "attention/positive.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "attention/linear.h"
#include "attention/sum_range.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Operands of `e` that are a factor or divisor of what differs from pair to pair.
std::vector<Expr> factors_of(const Expr& e) {
  if (e.type() != expr::Type::Int) return {};
  if (e.op() == Op::FloorDivide || e.op() == Op::Modulo) return {e.operand(1)};
  if (e.op() != Op::Multiply) return {};
  if (varies(e.operand(0))) return {e.operand(1)};
  return varies(e.operand(1)) ? std::vector{e.operand(0)} : std::vector<Expr>();
}

}  // namespace

bool is_shared_from(double least, const Expr& e, Inputs inputs) {
  return e.type() == expr::Type::Int && !varies(e) &&
         expr::bound(e, bounds_of(inputs)).low >= least;
}

std::vector<Expr> signed_factors(const Expr& mask, Inputs inputs) {
  std::vector<Expr> found;
  std::set<const void*> seen;
  const std::function<void(const Expr&)> visit = [&](const Expr& e) {
    if (!seen.insert(e.identity()).second) return;
    for (const Expr& factor : factors_of(e)) {
      const auto is_it = [&](const Expr& other) { return expr::same(other, factor); };
      if (!factor.is_number() && !varies(factor) && !is_shared_from(1, factor, inputs) &&
          std::ranges::none_of(found, is_it)) {
        found.push_back(factor);
      }
    }
    for (const Expr& operand : e.operands()) visit(operand);
  };
  visit(mask);
  return found;
}

Expr are_positive(const std::vector<Expr>& factors) {
  Expr all;
  for (const Expr& factor : factors) {
    const Expr positive = expr::make(Op::Less, {expr::integer(0), factor});
    all = all ? expr::make(Op::And, {all, positive}) : positive;
  }
  return all;
}

Expr with_positive(const Expr& mask, const std::vector<Expr>& factors) {
  std::map<const void*, Expr> done;
  const std::function<Expr(const Expr&)> replaced = [&](const Expr& e) {
    if (const auto found = done.find(e.identity()); found != done.end()) return found->second;
    const bool is_factor =
        std::ranges::any_of(factors, [&](const Expr& factor) { return expr::same(factor, e); });
    const Expr result =
        is_factor ? expr::make(Op::Max, {e, expr::integer(1)}) : expr::map_operands(e, replaced);
    return done.emplace(e.identity(), result).first->second;
  };
  return replaced(mask);
}

}  // namespace attngen::attention
