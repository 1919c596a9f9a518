#include "attention/row_divisors.h"

#include <map>
#include <vector>

#include "attention/pair_form.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using Is = std::function<bool(const Expr&)>;

void add_factors(const Expr& e, std::vector<Expr>& factors) {
  if (e.op() != Op::Multiply) return factors.push_back(e);
  add_factors(e.operand(0), factors);
  add_factors(e.operand(1), factors);
}

Expr product_of(const std::vector<Expr>& factors) {
  Expr product;
  for (const Expr& factor : factors) {
    product = product ? expr::make(Op::Multiply, {product, factor}) : factor;
  }
  return product ? product : expr::number(1);
}

class Rewriter {
 public:
  Rewriter(const Is& varies, const Is& grows_evenly)
      : varies_(varies), grows_evenly_(grows_evenly) {}

  Expr operator()(const Expr& e) {
    if (e.operands().empty() || makes_step(e)) return e;
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    const Expr result = expr::map_operands(e, std::ref(*this));
    return done_[e.identity()] = is_divided(result) ? factored(result) : result;
  }

 private:
  bool is_divided(const Expr& e) const {
    return e.op() == Op::Divide && varies_(e.operand(0)) && !varies_(e.operand(1)) &&
           !e.operand(1).is_number() && !grows_evenly_(e);
  }
  Expr factored(const Expr& quotient) const {
    std::vector<Expr> factors, of_pair, of_row;
    add_factors(quotient.operand(0), factors);
    for (const Expr& factor : factors) (varies_(factor) ? of_pair : of_row).push_back(factor);
    return expr::make(
        Op::Multiply,
        {product_of(of_pair), expr::make(Op::Divide, {product_of(of_row), quotient.operand(1)})});
  }

  const Is &varies_, &grows_evenly_;
  std::map<const void*, Expr> done_;
};

}  // namespace

Expr with_row_factors(const Expr& e, const Is& varies, const Is& grows_evenly) {
  return Rewriter(varies, grows_evenly)(e);
}

}  // namespace attngen::attention
