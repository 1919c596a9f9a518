// Interval arithmetic: bounds of an expression's value from bounds of its variables.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "expr/expr.h"

namespace attngen::expr {

// All values lie in [low, high], ends included (infinities too); a NaN only if `may_be_nan`.
// Bools are within [0, 1]. Int bounds are exact: [3, 3] means 3. An interval from a Float operation
// is widened so that the rounded double result lies inside.
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

// The same of one expression, asked about many times: its nodes in a row, each once, operands
// before what reads them.
class Bounder {
 public:
  explicit Bounder(const Expr& e);
  Interval bound(const Bounds& bounds);

 private:
  struct Step {
    Expr e;
    std::array<uint32_t, 3> operands{};  // where they stand
  };
  uint32_t append(const Expr& e, std::map<const void*, uint32_t>& places);

  std::vector<Step> steps_;
  std::vector<Interval> values_;  // of each step, as bound() goes along
};

}  // namespace attngen::expr
