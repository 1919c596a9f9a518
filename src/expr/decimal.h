// Floating-point literals.
#pragma once

#include <fmt/format.h>

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

}  // namespace attngen::expr
