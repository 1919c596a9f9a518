#include "text/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/characters.h"

namespace attngen::text {
namespace {

// The exponent of a spelled number, without bounds: "1e-99999999999".
double exponent_of(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos) return 0;
  double exponent = 0;
  for (char c : text.substr(e + 1)) {
    if (is_digit(c)) exponent = 10 * exponent + (c - '0');
  }
  return text[e + 1] == '-' ? -exponent : exponent;
}

// Of a spelled number that no double holds: whether it is too large, not too small. Its first digit
// that is not 0 tells, by how far before the point it would stand without an exponent.
bool is_too_large(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  const auto point = static_cast<double>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<double>(digits.find_first_of("123456789"));
  return point - first + exponent_of(text) > 0;
}

}  // namespace

double nearest_double(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  const double size = is_too_large(text) ? HUGE_VAL : std::numeric_limits<double>::denorm_min();
  return text.front() == '-' ? -size : size;
}

}  // namespace attngen::text
