#include "attention/powers_of_two.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attention/known.h"
#include "spec/bounds.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;

class PowersOfTwo {
 public:
  Expr operator()(const Expr& e) {
    if (e.operands().empty()) return e;
    if (const Expr* known = known_.find(e)) return *known;
    return known_.keep(e, rewrite(e));
  }

 private:
  Expr rewrite(const Expr& e) {
    Expr rest = expr::map_operands(e, [this](const Expr& operand) { return (*this)(operand); });
    const auto power = [&](double factor) {
      return power_of(rest.operand(0), expr::number(factor));
    };
    const auto logistic = [&](const Expr& numerator) {
      return expr::make(
          Op::Divide,
          {numerator, expr::make(Op::Add, {expr::number(1), power(-std::numbers::log2e)})});
    };
    switch (e.op()) {
      case Op::Exp:
        return power(std::numbers::log2e);
      case Op::Sigmoid:
        return logistic(expr::number(1));
      case Op::Silu:
        return logistic(rest.operand(0));
      case Op::Pow:
        return power_of_base(rest.operand(0), rest.operand(1), rest);
      case Op::Multiply:
        return with_number_in_power(rest);
      default:
        return rest;
    }
  }

  // base^exponent, if the base is known to be positive; else `power`, which is it too.
  static Expr power_of_base(const Expr& base, const Expr& exponent, const Expr& power) {
    if (!spec::is_positive(base)) return power;
    if (!base.is_number()) {  // to the power of a number it may be a product
      return exponent.is_number() ? power : power_of(exponent, expr::make(Op::Log2, {base}));
    }
    const double number = base.number();  // of 1 it would be 0 times the exponent
    if (number == 1 || !std::isnormal(number)) return power;
    return power_of(exponent, expr::number(std::log2(number)));
  }
  static Expr power_of(const Expr& exponent, const Expr& factor) {
    return expr::make(Op::Exp2, {expr::make(Op::Multiply, {exponent, factor})});
  }

  // c 2^x as 2^(x + log2(c)): x mostly is a sum, whose constants come together.
  static Expr with_number_in_power(const Expr& product) {
    std::vector<Expr> leaves = leaves_of(product);
    double number = 1;
    const auto numbers = std::stable_partition(leaves.begin(), leaves.end(),
                                               [](const Expr& leaf) { return !leaf.is_number(); });
    for (auto leaf = numbers; leaf != leaves.end(); ++leaf) number *= leaf->number();
    if (!std::isnormal(number) || number < 0 || number == 1) return product;
    leaves.erase(numbers, leaves.end());
    const auto power = std::find_if(leaves.begin(), leaves.end(),
                                    [](const Expr& leaf) { return leaf.op() == Op::Exp2; });
    if (power == leaves.end()) return product;
    *power = expr::make(
        Op::Exp2, {expr::make(Op::Add, {power->operand(0), expr::number(std::log2(number))})});
    Expr result = leaves.front();
    for (size_t i = 1; i < leaves.size(); ++i)
      result = expr::make(Op::Multiply, {result, leaves[i]});
    return result;
  }
  // The factors of a product, or itself where they are many: they may be shared.
  static std::vector<Expr> leaves_of(const Expr& product) {
    constexpr size_t kMost = 8;
    std::vector<Expr> leaves{product};
    for (size_t i = 0; i < leaves.size();) {
      if (leaves[i].op() != Op::Multiply) {
        ++i;
        continue;
      }
      if (leaves.size() >= kMost) return {product};
      const Expr factor = leaves[i];
      leaves[i] = factor.operand(0);
      leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(i) + 1, factor.operand(1));
    }
    return leaves;
  }

  Known<Expr> known_;
};

}  // namespace

Expr by_powers_of_two(const Expr& e) { return PowersOfTwo()(e); }

}  // namespace attngen::attention
