#include "attention/large_scores.h"

#include <string_view>

#include "expr/bound.h"
#include "spec/bounds.h"

namespace attngen::attention {

bool may_be_large(const spec::Spec& spec) {
  constexpr double kLarge = 0x1p20, kLargestProduct = 0x1p19;
  expr::Bounds bounds = spec::bounds_of(spec);
  bounds.variable = [&, of_spec = bounds.variable](std::string_view name) {
    return name == "score" ? expr::Interval{-kLargestProduct, kLargestProduct} : of_spec(name);
  };
  const expr::Interval score = expr::bound(spec.score, bounds);
  return score.may_be_nan || score.low < -kLarge || score.high > kLarge;
}

}  // namespace attngen::attention
