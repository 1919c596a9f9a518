// Floating-point literals.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace attngen::expr {

// The shortest decimal that reads back as `value`, never mistaken for an integer: "0.1", "2.0",
// "1e+20".
template <typename Real>
std::string decimal(Real value) {
  std::string text = fmt::format("{}", value);
  const bool marked = text.find_first_of(".en") != std::string::npos;
  return marked ? text : text + ".0";
}

// The C literal of the float nearest to `value`: "0.1f". A number is never infinity, whose product
// with 0 is none.
inline std::string float_literal(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  constexpr double kLargest = std::numeric_limits<float>::max();
  return decimal(static_cast<float>(std::clamp(value, -kLargest, kLargest))) + "f";
}

}  // namespace attngen::expr
