#include "attention/large_scores.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "expr/bound.h"
#include "spec/bounds.h"

namespace attngen::attention {

namespace {

constexpr double kLarge = 0x1p20;

// Of what a spec says, with `score` in this range.
expr::Interval range_of(const expr::Expr& e, const spec::Spec& spec, const expr::Interval& score) {
  expr::Bounds bounds = spec::bounds_of(spec);
  bounds.variable = [&, of_spec = bounds.variable](std::string_view name) {
    return name == "score" ? score : of_spec(name);
  };
  return expr::bound(e, bounds);
}

bool is_large(const expr::Interval& range) {
  return range.may_be_nan || range.low < -kLarge || range.high > kLarge;
}

// By how much a scale is above its default, 1 / sqrt(head_dim.qk).
double above_default(const spec::Spec& spec) {
  return std::fabs(spec.scale) * std::sqrt(spec.head_dim.qk);
}

}  // namespace

bool may_be_large(const spec::Spec& spec) {
  constexpr double kLargestProduct = 0x1p19;
  // Of elements near 1 products are a thousand times smaller: so far a scale may be above.
  const double product = kLargestProduct * std::max(above_default(spec) / 0x1p10, 1.0);
  return is_large(range_of(spec.score, spec, {-product, product}));
}

bool rounds_little(const expr::Expr& exponent, const spec::Spec& spec) {
  const double product = 0x1p16 * above_default(spec);
  const expr::Interval score = range_of(spec.score, spec, {-product, product});
  return !is_large(range_of(exponent, spec, score));
}

}  // namespace attngen::attention
