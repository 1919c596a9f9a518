// What a Bounder says, at many places at a time: an operator is looked at once for all of them, and
// those of whole numbers are loops that become vector instructions.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "expr/bound.h"

namespace attngen::expr {

class LaneBounder {
 public:
  static constexpr size_t kLanes = 64;

  // By place.
  struct Lanes {
    std::array<double, kLanes> low{}, high{};
    std::array<bool, kLanes> may_be_nan{};  // of a Float alone

    Interval at(size_t place) const { return {low[place], high[place], may_be_nan[place]}; }
    void set(size_t place, const Interval& value);
  };

  explicit LaneBounder(const Expr& e);
  // A variable's value, everywhere or at the first places: the rest keep what they had. It is
  // unknown until it is set; inputs are always.
  void set(std::string_view variable, double value);
  void set(std::string_view variable, std::span<const double> values);
  const Lanes& bound();

 private:
  bool bound_exact(const BoundStep& step, Lanes& out) const;
  bool bound_by_divisor(const BoundStep& step, Lanes& out) const;

  std::vector<BoundStep> steps_;
  std::vector<Lanes> lanes_;       // of each step
  std::vector<size_t> variables_;  // the steps that are
};

}  // namespace attngen::expr
