#include "attention/large_scores.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "expr/bound.h"
#include "spec/bounds.h"

namespace attngen::attention {

bool may_be_large(const spec::Spec& spec) {
  constexpr double kLarge = 0x1p20, kLargestProduct = 0x1p19;
  // Of elements near 1 products are a thousand times smaller: so far a scale may be above its
  // default, 1 / sqrt(head_dim.qk).
  const double above = std::fabs(spec.scale) * std::sqrt(spec.head_dim.qk) / 0x1p10;
  const double product = kLargestProduct * std::max(above, 1.0);
  expr::Bounds bounds = spec::bounds_of(spec);
  bounds.variable = [&, of_spec = bounds.variable](std::string_view name) {
    return name == "score" ? expr::Interval{-product, product} : of_spec(name);
  };
  const expr::Interval score = expr::bound(spec.score, bounds);
  return score.may_be_nan || score.low < -kLarge || score.high > kLarge;
}

}  // namespace attngen::attention
