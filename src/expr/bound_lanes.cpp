#include "expr/bound_lanes.h"

#include <algorithm>
#include <cstring>

namespace attngen::expr {
namespace {

using Lanes = LaneBounder::Lanes;

// Neighbouring places. Compilers do not make vector instructions of comparisons of doubles by
// themselves: they might trap.
using Pack = double __attribute__((vector_size(16)));
constexpr size_t kPack = sizeof(Pack) / sizeof(double);

Pack pack_of(double x) { return Pack{} + x; }
Pack load(const double* from) {
  Pack pack;
  std::memcpy(&pack, from, sizeof(pack));
  return pack;
}

// Of values that are never NaN.
struct Ends {
  Pack low, high;
};

bool is_leaf(const BoundStep& step) {
  return step.e.op() == Op::Number || step.e.op() == Op::Variable || step.e.op() == Op::Load;
}

bool is_exact(const Expr& e) {
  return e.type() != Type::Float && std::ranges::none_of(e.operands(), [](const Expr& operand) {
           return operand.type() == Type::Float;
         });
}

// Makes `out` of its operands; true.
template <typename Function>
bool each(Lanes& out, const Lanes& a, const Lanes& b, const Function& f) {
  for (size_t i = 0; i < LaneBounder::kLanes; i += kPack) {
    const Ends x{load(&a.low[i]), load(&a.high[i])}, y{load(&b.low[i]), load(&b.high[i])};
    const Ends result = f(x, y);
    std::memcpy(&out.low[i], &result.low, sizeof(Pack));
    std::memcpy(&out.high[i], &result.high, sizeof(Pack));
  }
  return true;
}

Pack min(Pack x, Pack y) { return y < x ? y : x; }
Pack max(Pack x, Pack y) { return x < y ? y : x; }

// Masks: where a condition always holds, where it never does.
template <typename Mask>
Ends truth_of(Mask always, Mask never) {
  return {always ? pack_of(1) : pack_of(0), never ? pack_of(0) : pack_of(1)};
}

// Objects, not functions, so that each() has what they do inside its loop.
constexpr auto kAdd = [](const Ends& x, const Ends& y) {
  const Pack low = x.low + y.low, high = x.high + y.high;
  // A sum of infinities may be anything.
  return Ends{low == low ? low : pack_of(-kInfinity), high == high ? high : pack_of(kInfinity)};
};
constexpr auto kSubtract = [](const Ends& x, const Ends& y) {
  return kAdd(x, {0 - y.high, 0 - y.low});
};
constexpr auto kMin = [](const Ends& x, const Ends& y) {
  return Ends{min(x.low, y.low), min(x.high, y.high)};
};
constexpr auto kMax = [](const Ends& x, const Ends& y) {
  return Ends{max(x.low, y.low), max(x.high, y.high)};
};
constexpr auto kLess = [](const Ends& x, const Ends& y) {
  return truth_of(x.high < y.low, x.low >= y.high);
};
constexpr auto kLessEqual = [](const Ends& x, const Ends& y) {
  return truth_of(x.high <= y.low, x.low > y.high);
};
constexpr auto kEqual = [](const Ends& x, const Ends& y) {
  return truth_of((x.low == x.high) & (y.low == y.high) & (x.low == y.low),
                  (x.high < y.low) | (y.high < x.low));
};
constexpr auto kNot = [](const Ends& x, const Ends&) { return Ends{1 - x.high, 1 - x.low}; };
constexpr auto kNotEqual = [](const Ends& x, const Ends& y) { return kNot(kEqual(x, y), y); };

// By a condition; either where it is unknown.
bool select(Lanes& out, const Lanes& condition, const Lanes& a, const Lanes& b) {
  for (size_t i = 0; i < LaneBounder::kLanes; i += kPack) {
    const auto never_a = load(&condition.high[i]) <= 0, never_b = load(&condition.low[i]) > 0;
    const Ends x{load(&a.low[i]), load(&a.high[i])}, y{load(&b.low[i]), load(&b.high[i])};
    const Pack low = never_b ? x.low : never_a ? y.low : min(x.low, y.low);
    const Pack high = never_b ? x.high : never_a ? y.high : max(x.high, y.high);
    std::memcpy(&out.low[i], &low, sizeof(Pack));
    std::memcpy(&out.high[i], &high, sizeof(Pack));
  }
  return true;
}

// std::floor of what is_small.
Pack floor_of_small(Pack x) {
  constexpr double kWhole = 0x1.8p52;  // added to it, a number is rounded to the nearest whole one
  const Pack nearest = (x + kWhole) - kWhole;
  return nearest > x ? nearest - 1 : nearest;
}
bool is_small(const Lanes& x) {
  constexpr double kSmall = 0x1p51;
  Pack largest = pack_of(0);
  for (size_t i = 0; i < LaneBounder::kLanes; i += kPack) {
    largest = max(largest, max(0 - load(&x.low[i]), load(&x.high[i])));
  }
  return largest[0] < kSmall && largest[1] < kSmall;
}

// By a positive number.
struct DivideBy {
  double divisor;
  Ends operator()(const Ends& x, const Ends&) const {
    return {floor_of_small(x.low / divisor), floor_of_small(x.high / divisor)};
  }
};
struct ModuloBy {
  double divisor;
  Ends operator()(const Ends& x, const Ends&) const {
    const Ends quotient = DivideBy{divisor}(x, x);
    const Pack most = pack_of(divisor - 1);
    const Pack most_wrapped = x.low >= 0 ? min(most, x.high) : most;
    const auto wraps = quotient.low != quotient.high;
    return {wraps ? pack_of(0) : x.low - divisor * quotient.low,
            wraps ? most_wrapped : x.high - divisor * quotient.high};
  }
};

}  // namespace

void LaneBounder::Lanes::set(size_t place, const Interval& value) {
  low[place] = value.low;
  high[place] = value.high;
  may_be_nan[place] = value.may_be_nan;
}

LaneBounder::LaneBounder(const Expr& e) : steps_(steps_of(e)), lanes_(steps_.size()) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!is_leaf(steps_[i])) continue;
    if (steps_[i].e.op() == Op::Variable) variables_.push_back(i);
    const Interval value = bound_step(steps_[i].e, {}, {}, {}, {});
    for (size_t place = 0; place < kLanes; ++place) lanes_[i].set(place, value);
  }
}

void LaneBounder::set(std::string_view variable, double value) {
  std::array<double, kLanes> values;
  values.fill(value);
  set(variable, values);
}

void LaneBounder::set(std::string_view variable, std::span<const double> values) {
  for (const size_t step : variables_) {
    if (steps_[step].e.name() != variable) continue;
    std::ranges::copy(values, lanes_[step].low.begin());
    std::ranges::copy(values, lanes_[step].high.begin());
  }
}

const LaneBounder::Lanes& LaneBounder::bound() {
  const Bounds unknown;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const BoundStep& step = steps_[i];
    if (is_leaf(step) || bound_exact(step, lanes_[i])) continue;
    const auto& [a, b, c] = step.operands;
    for (size_t place = 0; place < kLanes; ++place) {
      lanes_[i].set(place, bound_step(step.e, lanes_[a].at(place), lanes_[b].at(place),
                                      lanes_[c].at(place), unknown));
    }
  }
  return lanes_.back();
}

// The common operators of whole numbers and of truths; false for all else.
bool LaneBounder::bound_exact(const BoundStep& step, Lanes& out) const {
  if (!is_exact(step.e)) return false;
  const Lanes &a = lanes_[step.operands[0]], &b = lanes_[step.operands[1]];
  switch (step.e.op()) {
    case Op::Add:
      return each(out, a, b, kAdd);
    case Op::Subtract:
      return each(out, a, b, kSubtract);
    case Op::Min:
    case Op::And:
      return each(out, a, b, kMin);
    case Op::Max:
    case Op::Or:
      return each(out, a, b, kMax);
    case Op::Less:
      return each(out, a, b, kLess);
    case Op::LessEqual:
      return each(out, a, b, kLessEqual);
    case Op::Greater:
      return each(out, b, a, kLess);
    case Op::GreaterEqual:
      return each(out, b, a, kLessEqual);
    case Op::Equal:
      return each(out, a, b, kEqual);
    case Op::NotEqual:
      return each(out, a, b, kNotEqual);
    case Op::Not:
      return each(out, a, a, kNot);
    case Op::Select:
      return select(out, a, b, lanes_[step.operands[2]]);
    case Op::FloorDivide:
    case Op::Modulo:
      return bound_by_divisor(step, out);
    default:
      return false;
  }
}

// By a positive number alone.
bool LaneBounder::bound_by_divisor(const BoundStep& step, Lanes& out) const {
  const Lanes& a = lanes_[step.operands[0]];
  const Expr& divisor = step.e.operand(1);
  if (!divisor.is_number() || !(divisor.number() >= 1) || !is_small(a)) return false;
  if (step.e.op() == Op::FloorDivide) return each(out, a, a, DivideBy{divisor.number()});
  return each(out, a, a, ModuloBy{divisor.number()});
}

}  // namespace attngen::expr
