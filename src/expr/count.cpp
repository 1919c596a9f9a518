#include "expr/count.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "expr/bound.h"
#include "expr/ops.h"

namespace attngen::expr {
namespace {

class Counter {
 public:
  Counter(std::span<const std::string> varying, Accuracy accuracy, const Inexact& inexact)
      : varying_(varying), accuracy_(accuracy), inexact_(inexact) {}

  void add(const Expr& whole) {
    rounded_apart_.emplace_back(whole, inexact_);
    visit(whole);
  }
  const OperationCounts& counts() const { return counts_; }

 private:
  // Adds the costs of `e`, of equal nodes once; whether it varies.
  bool visit(const Expr& e) {
    if (const auto found = varies_.find(e.identity()); found != varies_.end()) {
      return found->second;
    }
    const auto [begin, end] = seen_.equal_range(e.hash());
    for (auto other = begin; other != end; ++other) {
      if (same(other->second, e)) return varies_[e.identity()] = visit(other->second);
    }
    seen_.emplace(e.hash(), e);
    bool any = e.op() == Op::Variable &&
               std::find(varying_.begin(), varying_.end(), e.name()) != varying_.end();
    for (const Expr& operand : e.operands()) {
      any = visit(operand) || any;
    }
    varies_.emplace(e.identity(), any);
    if (any) {
      charge(e);
    }
    return any;
  }
  bool divides(const Expr& quotient) const {
    return std::ranges::any_of(rounded_apart_,
                               [&](const RoundedApart& of) { return of.divides(quotient); });
  }
  void charge(const Expr& e);
  void charge_float(const Expr& e);
  void charge_sum(const Expr& e);
  void charge_power(const Expr& e);
  void functions(double special, double multiply) {
    counts_.special += special;
    counts_.multiply += multiply;
  }

  std::span<const std::string> varying_;
  Accuracy accuracy_;
  const Inexact& inexact_;
  std::vector<RoundedApart> rounded_apart_;
  std::multimap<uint64_t, Expr> seen_;  // by hash
  std::map<const void*, bool> varies_;
  std::map<const void*, bool> fused_;  // multiplies that an add has taken in
  OperationCounts counts_;
};

void Counter::charge(const Expr& e) {
  if (e.op() == Op::Load) {
    counts_.load += 1;
    return;
  }
  if (e.operands().empty()) {
    return;
  }
  if (e.type() == Type::Float && e.op() != Op::ToFloat && e.op() != Op::Select) {
    charge_float(e);
    return;
  }
  const bool divides = e.op() == Op::FloorDivide || e.op() == Op::Modulo;
  const bool by_constant = divides && e.operand(1).is_number();
  const bool by_shift = by_constant && is_power_of_two(e.operand(1).number());
  // Without a shift a division multiplies by a reciprocal and corrects; by a variable, it takes the
  // special unit's reciprocal first.
  counts_.logic += !divides || by_shift ? 1 : (by_constant ? 5 : 16);
  counts_.special += divides && !by_constant ? 1 : 0;
}

// One multiply of the operands goes into the add's own instruction. Those came before it in
// postorder, and have been charged.
void Counter::charge_sum(const Expr& e) {
  for (const Expr& operand : e.operands()) {
    const bool multiplies = operand.op() == Op::Multiply || operand.op() == Op::Square;
    if (multiplies && varies_.at(operand.identity()) &&
        fused_.emplace(operand.identity(), true).second) {
      return;
    }
  }
  counts_.multiply += 1;
}

void Counter::charge_power(const Expr& e) {
  if (const int n = small_exponent(e); n != 0) {
    functions(n < 0 ? 1 : 0, std::ceil(std::log2(std::abs(n))) + 1);
    return;
  }
  functions(2, 1);  // a logarithm and an exponential
  counts_.logic += bound(e.operand(0)).low >= 0 ? 1 : 4;
}

void Counter::charge_float(const Expr& e) {
  switch (e.op()) {
    case Op::Negate:
    case Op::Abs:
      return;  // modifiers of the instruction that reads them
    case Op::Add:
    case Op::Subtract:
      return charge_sum(e);
    case Op::Multiply:
    case Op::Square:
      return functions(0, 1);
    case Op::Divide:
      if (divides(e)) return functions(1, 8);
      return e.operand(1).is_number() ? functions(0, 1) : functions(1, 1);
    case Op::FloorDivide:
    case Op::Modulo:
      return functions(1, 10);
    case Op::Exp:  // the factor log2 e
      return functions(1, 1);
    case Op::Exp2:
    case Op::Log2:
    case Op::Rsqrt:
      return functions(1, 0);
    case Op::Log:
    case Op::Sqrt:
      return functions(1, 1);
    case Op::Tanh:
      if (accuracy_ == Accuracy::Bf16) return functions(1, 0);
      [[fallthrough]];
    case Op::Sigmoid:
    case Op::Silu:
      return functions(2, 3);
    case Op::Sin:
    case Op::Cos:
      return functions(1, 5);
    case Op::Erf:
      if (accuracy_ == Accuracy::Bf16) return functions(1, 5);
      counts_.logic += 11;  // erff selects each of its coefficients (nvcc 13.0's PTX)
      return functions(1, 10);
    case Op::Gelu:
      counts_.logic += 2;
      return functions(2, 10);
    case Op::Pow:
      return charge_power(e);
    case Op::Min:
    case Op::Max:
    case Op::Relu:
      counts_.logic += 1;
      return;
    default:  // Floor, Sign, reductions
      counts_.logic += 2;
  }
}

}  // namespace

OperationCounts count(std::span<const Expr> all, std::span<const std::string> varying,
                      Accuracy accuracy, const Inexact& inexact) {
  Counter counter(varying, accuracy, inexact);
  for (const Expr& e : all) counter.add(e);
  return counter.counts();
}

OperationCounts count(const Expr& e, std::span<const std::string> varying, Accuracy accuracy,
                      const Inexact& inexact) {
  return count(std::span(&e, 1), varying, accuracy, inexact);
}

}  // namespace attngen::expr
