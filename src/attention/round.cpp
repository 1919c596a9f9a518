#include <algorithm>
#include <cmath>

#include "attention/oracle.h"

namespace attngen::attention {

double round_to(spec::DType dtype, double value) {
  // Significant bits, the exponent of the least normal number, and the greatest finite value.
  const bool bf16 = dtype == spec::DType::Bf16;
  const int precision = bf16 ? 8 : 11;
  const int min_exponent = bf16 ? -126 : -14;
  const double greatest = bf16 ? 0x1.FEp127 : 65504.0;
  if (!std::isfinite(value) || value == 0) return value;
  // Below the least normal number the spacing stays that of its binade.
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double spacing = std::ldexp(1.0, exponent - precision + 1);
  const double rounded = std::nearbyint(value / spacing) * spacing;
  if (std::abs(rounded) <= greatest) return rounded;
  return std::copysign(expr::kInfinity, value);
}

}  // namespace attngen::attention
