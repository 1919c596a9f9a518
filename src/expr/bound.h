// Interval arithmetic: bounds of an expression's value from bounds of its variables.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "expr/expr.h"

namespace attngen::expr {

// All values lie in [low, high], ends included (infinities too); a NaN only if `may_be_nan`.
// Bools are within [0, 1]. Int bounds are exact: [3, 3] means 3. An interval from a Float operation
// is widened so that the rounded double result lies inside, and the float, which is infinite beyond
// a float's range.
struct Interval {
  double low = -kInfinity;
  double high = kInfinity;
  bool may_be_nan = false;

  bool is_true() const { return low > 0 && !may_be_nan; }
  bool is_false() const { return high <= 0 && low >= 0 && !may_be_nan; }
  bool contains(double value) const;
};

// Of one value.
inline Interval point(int64_t value) {
  return {static_cast<double>(value), static_cast<double>(value)};
}

// Bounds of each variable and of each input's elements, by name.
struct Bounds {
  std::function<Interval(std::string_view)> variable;
  std::function<Interval(std::string_view)> input;
};

Interval bound(const Expr& e, const Bounds& bounds);
// Whatever its variables and inputs are.
Interval bound(const Expr& e);

// An expression's nodes in a row, each once, operands before what reads them: whoever asks many
// times does not walk the tree each time.
struct BoundStep {
  Expr e;
  std::array<uint32_t, 3> operands{};  // where they stand
};
std::vector<BoundStep> steps_of(const Expr& e);
// Of one, from its operands' bounds; of one with fewer than three the rest is not read.
Interval bound_step(const Expr& e, const Interval& a, const Interval& b, const Interval& c,
                    const Bounds& bounds);

// bound() of one expression, asked about many times.
class Bounder {
 public:
  explicit Bounder(const Expr& e) : steps_(steps_of(e)), values_(steps_.size()) {}
  Interval bound(const Bounds& bounds);

 private:
  std::vector<BoundStep> steps_;
  std::vector<Interval> values_;  // of each step, as bound() goes along
};

}  // namespace attngen::expr
