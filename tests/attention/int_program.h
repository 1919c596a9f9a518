// An expression as a kernel computes it: Ints have 32 bits and wrap, and `and`, `or` and `if`
// evaluate what decides alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "expr/evaluate.h"
#include "expr/expr.h"
#include "expr/ops.h"
#include "expr/scalar.h"

namespace attngen::attention::testing {

class IntProgram {
 public:
  IntProgram(expr::Expr e, std::vector<std::string> variables)
      : e_(std::move(e)), variables_(std::move(variables)) {}

  double operator()(std::span<const double> values, const expr::Loader& load) {
    values_ = values;
    load_ = &load;
    done_.clear();
    return of(e_);
  }
  // Whether any number so far did not fit.
  bool overflowed() const { return overflowed_; }

 private:
  double of(const expr::Expr& e) {
    const auto found = done_.find(e.identity());
    if (found != done_.end()) return found->second;
    const double value = compute(e);
    done_.emplace(e.identity(), value);
    return value;
  }
  double compute(const expr::Expr& e) {
    using expr::Op;
    switch (e.op()) {
      case Op::Number:
        return e.number();
      case Op::Variable:
        return values_[std::ranges::find(variables_, e.name()) - variables_.begin()];
      case Op::Load:
        return loaded(e);
      case Op::And:
        return of(e.operand(0)) != 0 ? of(e.operand(1)) : 0;
      case Op::Or:
        return of(e.operand(0)) != 0 ? 1 : of(e.operand(1));
      case Op::Select:
        return of(e.operand(of(e.operand(0)) != 0 ? 1 : 2));
      case Op::Saturate:
        return expr::apply(e.op(), e.type(), wide(e.operand(0)), 0, 0);
      default:
        return wrapped(e, applied(e, [this](const expr::Expr& operand) { return of(operand); }));
    }
  }
  template <typename OfOperand>
  static double applied(const expr::Expr& e, const OfOperand& of_operand) {
    double x[2] = {0, 0};
    for (size_t i = 0; i < e.operands().size(); ++i) x[i] = of_operand(e.operand(i));
    return expr::apply(e.op(), e.type(), x[0], x[1], 0);
  }
  // A sum of 64 bits.
  double wide(const expr::Expr& e) {
    if (!expr::is_sum(e.op())) return of(e);
    return applied(e, [this](const expr::Expr& operand) { return wide(operand); });
  }
  double wrapped(const expr::Expr& e, double value) {
    if (e.type() != expr::Type::Int) return value;
    const auto whole = static_cast<int64_t>(value);
    const auto result = static_cast<int32_t>(static_cast<uint32_t>(whole));
    overflowed_ = overflowed_ || result != whole;
    return result;
  }
  double loaded(const expr::Expr& e) {
    std::vector<int64_t> indices;
    for (const expr::Expr& index : e.operands()) {
      indices.push_back(static_cast<int64_t>(of(index)));
    }
    return (*load_)(e.name(), indices);
  }

  expr::Expr e_;
  std::vector<std::string> variables_;
  std::span<const double> values_;
  const expr::Loader* load_ = nullptr;
  std::map<const void*, double> done_;
  bool overflowed_ = false;
};

}  // namespace attngen::attention::testing
