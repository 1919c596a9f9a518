#include "expr/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "expr/ops.h"
#include "expr/simplify.h"

namespace attngen::expr {
namespace {

Expr operator+(const Expr& a, const Expr& b) { return make(Op::Add, {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return make(Op::Subtract, {a, b}); }
Expr operator-(const Expr& a) { return make(Op::Negate, {a}); }
Expr operator*(const Expr& a, const Expr& b) { return make(Op::Multiply, {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return make(Op::Divide, {a, b}); }
Expr call(Op op, const Expr& x) { return make(op, {x}); }
Expr where(const Expr& condition, const Expr& yes, const Expr& no) {
  return make(Op::Select, {condition, yes, no});
}
Expr less(const Expr& a, const Expr& b) { return make(Op::Less, {a, b}); }

// f'(x) of a function of one argument, given the node f(x); empty where it is zero.
Expr slope(const Expr& f) {
  const Expr& x = f.operand(0);
  const Expr one = number(1);
  switch (f.op()) {
    case Op::Negate:
      return number(-1);
    case Op::ToFloat:
      return number(1);
    case Op::Abs:
      return call(Op::Sign, x);
    case Op::Exp:
      return f;
    case Op::Exp2:
      return f * number(std::numbers::ln2);
    case Op::Log:
      return one / x;
    case Op::Log2:
      return number(std::numbers::log2e) / x;
    case Op::Sqrt:
      return number(0.5) / f;
    case Op::Rsqrt:  // -1/2 x^(-3/2)
      return number(-0.5) * f / x;
    case Op::Tanh:
      return one - call(Op::Square, f);
    case Op::Sigmoid:
      return f * (one - f);
    case Op::Relu:
      return where(less(number(0), x), one, number(0));
    case Op::Square:
      return number(2) * x;
    case Op::Erf:
      return number(2 * std::numbers::inv_sqrtpi) * call(Op::Exp, -call(Op::Square, x));
    case Op::Gelu: {  // Phi(x) + x phi(x)
      const double inv_sqrt_2pi = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      const Expr cumulative =
          number(0.5) * (one + call(Op::Erf, x * number(1 / std::numbers::sqrt2)));
      const Expr density = number(inv_sqrt_2pi) * call(Op::Exp, number(-0.5) * call(Op::Square, x));
      return cumulative + x * density;
    }
    case Op::Silu: {
      const Expr s = call(Op::Sigmoid, x);
      return s + f * (one - s);
    }
    case Op::Sin:
      return call(Op::Cos, x);
    case Op::Cos:
      return -call(Op::Sin, x);
    default:
      return {};  // Floor, Sign, Not
  }
}

class Derivation {
 public:
  explicit Derivation(std::span<const std::string> variables) : variables_(variables) {}

  std::variant<std::vector<Expr>, Error> run(const Expr& e);

 private:
  bool visit(const Expr& e);
  bool depends(const Expr& e) const { return depends_.at(e.identity()); }
  void add(const Expr& operand, const Expr& adjoint);
  void propagate(const Expr& e, const Expr& adjoint);
  void propagate_product(const Expr& e, const Expr& adjoint);
  void propagate_extremum(const Expr& e, const Expr& adjoint);
  void propagate_power(const Expr& e, const Expr& adjoint);
  void refuse(const Expr& e, std::string message);

  std::span<const std::string> variables_;
  std::vector<Expr> postorder_;
  std::map<const void*, bool> depends_;
  std::map<const void*, Expr> adjoints_;  // complete once all users of the node are done
  std::map<std::string, Expr, std::less<>> results_;
  std::optional<Error> error_;
};

// Whether the value of `e` depends on a variable, continuously or not: an index does not count.
bool Derivation::visit(const Expr& e) {
  if (const auto found = depends_.find(e.identity()); found != depends_.end()) {
    return found->second;
  }
  bool any = e.op() == Op::Variable &&
             std::find(variables_.begin(), variables_.end(), e.name()) != variables_.end();
  for (const Expr& operand : e.operands()) {
    any = visit(operand) || any;
  }
  any = any && e.op() != Op::Load;
  depends_.emplace(e.identity(), any);
  postorder_.push_back(e);
  return any;
}

void Derivation::add(const Expr& operand, const Expr& adjoint) {
  if (!depends(operand)) {
    return;
  }
  Expr& sum = adjoints_[operand.identity()];
  sum = sum ? sum + adjoint : adjoint;
}

void Derivation::refuse(const Expr& e, std::string message) {
  if (!error_) {
    error_ = Error{e.span(), std::move(message), ""};
  }
}

std::variant<std::vector<Expr>, Error> Derivation::run(const Expr& e) {
  visit(e);
  add(e, number(1));
  for (auto node = postorder_.rbegin(); node != postorder_.rend(); ++node) {
    const auto adjoint = adjoints_.find(node->identity());
    if (adjoint == adjoints_.end()) {
      continue;
    }
    if (node->op() == Op::Variable) {
      // Equal variables may be several nodes.
      Expr& sum = results_[node->name()];
      sum = sum ? sum + adjoint->second : adjoint->second;
    } else {
      propagate(*node, adjoint->second);
    }
  }
  if (error_) {
    return *error_;
  }
  std::vector<Expr> derivatives;
  for (const std::string& name : variables_) {
    const auto found = results_.find(name);
    derivatives.push_back(found == results_.end() ? number(0) : simplify(found->second));
  }
  return derivatives;
}

void Derivation::propagate(const Expr& e, const Expr& adjoint) {
  if (e.type() == Type::Bool) {
    return;  // piecewise constant
  }
  switch (e.op()) {
    case Op::Add:
      add(e.operand(0), adjoint);
      add(e.operand(1), adjoint);
      break;
    case Op::Subtract:
      add(e.operand(0), adjoint);
      add(e.operand(1), -adjoint);
      break;
    case Op::Multiply:
    case Op::Divide:
    case Op::Modulo:
      propagate_product(e, adjoint);
      break;
    case Op::FloorDivide:
      break;
    case Op::Select:
      add(e.operand(1), where(e.operand(0), adjoint, number(0)));
      add(e.operand(2), where(e.operand(0), number(0), adjoint));
      break;
    case Op::Min:
    case Op::Max:
      propagate_extremum(e, adjoint);
      break;
    case Op::Pow:
      propagate_power(e, adjoint);
      break;
    case Op::RowMax:
    case Op::RowSum:
      refuse(e, fmt::format("'{}' has no derivative here", spelling(e.op())));
      break;
    default:
      if (const Expr factor = slope(e)) {
        add(e.operand(0), adjoint * factor);
      }
  }
}

void Derivation::propagate_product(const Expr& e, const Expr& adjoint) {
  const Expr& a = e.operand(0);
  const Expr& b = e.operand(1);
  if (e.op() == Op::Multiply) {
    add(a, adjoint * b);
    add(b, adjoint * a);
  } else if (e.op() == Op::Divide) {
    add(a, adjoint / b);
    add(b, -(adjoint * e / b));
  } else {
    add(a, adjoint);
    if (depends(b)) {
      refuse(b, "'%' has no derivative by its divisor");
    }
  }
}

void Derivation::propagate_extremum(const Expr& e, const Expr& adjoint) {
  const Expr& a = e.operand(0);
  const Expr& b = e.operand(1);
  const auto share = [&](const Expr& chosen, const Expr& other) {
    const Expr wins = e.op() == Op::Max ? less(other, chosen) : less(chosen, other);
    const Expr tie = make(Op::Equal, {chosen, other});
    return where(wins, adjoint, where(tie, number(0.5) * adjoint, number(0)));
  };
  if (depends(a)) {
    add(a, share(a, b));
  }
  if (depends(b)) {
    add(b, share(b, a));
  }
}

void Derivation::propagate_power(const Expr& e, const Expr& adjoint) {
  const Expr& base = e.operand(0);
  const Expr& exponent = e.operand(1);
  if (depends(base)) {
    add(base, adjoint * exponent * make(Op::Pow, {base, exponent - number(1)}));
  }
  if (depends(exponent)) {
    // 0^y is constant for the y > 0 where it is finite.
    const Expr positive = less(number(0), base);
    add(exponent, where(positive, adjoint * e * call(Op::Log, base), number(0)));
  }
}

}  // namespace

std::variant<std::vector<Expr>, Error> derive(const Expr& e,
                                              std::span<const std::string> variables) {
  return Derivation(variables).run(e);
}

}  // namespace attngen::expr
