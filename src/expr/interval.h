// Interval arithmetic on values: what each operator makes of all the values within its operands.
#pragma once

#include <algorithm>
#include <cmath>

#include "expr/bound.h"

namespace attngen::expr {

inline bool has_zero(const Interval& x) { return x.low <= 0 && x.high >= 0; }
inline bool has_infinity(const Interval& x) { return std::isinf(x.low) || std::isinf(x.high); }
inline bool is_point(const Interval& x) { return x.low == x.high && !x.may_be_nan; }

// Both; the least interval around two.
inline Interval hull(const Interval& x, const Interval& y) {
  return {std::min(x.low, y.low), std::max(x.high, y.high), x.may_be_nan || y.may_be_nan};
}

// Wider by `ulps` steps at each end.
Interval widened(Interval x, int ulps);

Interval add(const Interval& x, const Interval& y);
Interval negate(const Interval& x);
Interval multiply(const Interval& x, const Interval& y);
Interval divide(const Interval& x, const Interval& y);
Interval square(const Interval& x);
Interval power(const Interval& base, const Interval& exponent);
Interval float_modulo(const Interval& x, const Interval& y);
// Of whole numbers; exact.
Interval integer_divide(const Interval& x, const Interval& y);
Interval integer_modulo(const Interval& x, const Interval& y);

// Functions of one Float.
Interval bound_function(Op op, const Interval& x);

}  // namespace attngen::expr
