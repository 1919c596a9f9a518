#include "expr/interval.h"

#include <array>
#include <limits>

#include "expr/scalar.h"

namespace attngen::expr {
namespace {

// The interval of some corner values; NaN corners (inf - inf, inf / inf) are left to their
// neighbours, whose limits cover them.
Interval around(std::initializer_list<double> corners) {
  Interval result{kInfinity, -kInfinity, false};
  for (const double corner : corners) {
    if (!std::isnan(corner)) {
      result.low = std::min(result.low, corner);
      result.high = std::max(result.high, corner);
    }
  }
  return result.low <= result.high ? result : Interval{};
}

// 0 * inf as the limit of 0 * x.
double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Interval everything_and_nan() { return {-kInfinity, kInfinity, true}; }

}  // namespace

Interval widened(Interval x, int ulps) {
  for (int i = 0; i < ulps; ++i) {
    x.low = std::nextafter(x.low, -kInfinity);
    x.high = std::nextafter(x.high, kInfinity);
  }
  return x;
}

Interval add(const Interval& x, const Interval& y) {
  Interval result;  // of inf - inf: anything
  const double low = x.low + y.low;
  const double high = x.high + y.high;
  result.low = std::isnan(low) ? result.low : low;
  result.high = std::isnan(high) ? result.high : high;
  result.may_be_nan = x.may_be_nan || y.may_be_nan ||
                      (x.low == -kInfinity && y.high == kInfinity) ||
                      (x.high == kInfinity && y.low == -kInfinity);
  return result;
}

Interval negate(const Interval& x) { return {0 - x.high, 0 - x.low, x.may_be_nan}; }

Interval multiply(const Interval& x, const Interval& y) {
  Interval result = around({product(x.low, y.low), product(x.low, y.high), product(x.high, y.low),
                            product(x.high, y.high)});
  result.may_be_nan = x.may_be_nan || y.may_be_nan || (has_zero(x) && has_infinity(y)) ||
                      (has_zero(y) && has_infinity(x));
  return result;
}

Interval divide(const Interval& x, const Interval& y) {
  const bool nan = x.may_be_nan || y.may_be_nan || (has_infinity(x) && has_infinity(y)) ||
                   (has_zero(x) && has_zero(y));
  if (has_zero(y)) {
    return {-kInfinity, kInfinity, nan};
  }
  Interval result = around({x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high});
  result.may_be_nan = nan;
  return result;
}

Interval square(const Interval& x) {
  const double largest = std::max(std::fabs(x.low), std::fabs(x.high));
  const double smallest = has_zero(x) ? 0 : std::min(std::fabs(x.low), std::fabs(x.high));
  return {smallest * smallest, largest * largest, x.may_be_nan};
}

Interval power(const Interval& base, const Interval& exponent) {
  if (base.may_be_nan || exponent.may_be_nan) {
    return everything_and_nan();  // although pow(NaN, 0) is 1
  }
  const double n = exponent.low;
  if (exponent.low == exponent.high && n == std::floor(n) && std::isfinite(n)) {
    if (n < 0 && has_zero(base)) {
      return {};
    }
    const bool even = std::fmod(n, 2) == 0;
    Interval result = around({std::pow(base.low, n), std::pow(base.high, n)});
    if (even && n > 0 && has_zero(base)) {
      result.low = 0;
    }
    return result;
  }
  if (base.low < 0) {
    return everything_and_nan();
  }
  if (base.low == 0 && exponent.low <= 0) {
    return {};  // pow(-0, -1) is -inf
  }
  // Monotone in each argument, so the extremes are at corners.
  return around({std::pow(base.low, exponent.low), std::pow(base.low, exponent.high),
                 std::pow(base.high, exponent.low), std::pow(base.high, exponent.high)});
}

Interval float_modulo(const Interval& x, const Interval& y) {
  if (x.may_be_nan || y.may_be_nan || has_infinity(x) || has_infinity(y) || has_zero(y)) {
    return everything_and_nan();
  }
  // Rounding in x - y floor(x / y) is of the order of an ulp of x or y.
  const double largest = std::max({-x.low, x.high, -y.low, y.high});
  const double slack = 8 * std::numeric_limits<double>::epsilon() * largest;
  return {std::min(0.0, y.low) - slack, std::max(0.0, y.high) + slack, false};
}

Interval integer_divide(const Interval& x, const Interval& y) {
  Interval result{kInfinity, -kInfinity, false};
  const auto include = [&](double low, double high) {
    if (low > high) {
      return;
    }
    const Interval quotient = around({x.low / low, x.low / high, x.high / low, x.high / high});
    result = hull(result, {std::floor(quotient.low) + 0.0, std::floor(quotient.high) + 0.0, false});
  };
  include(std::max(y.low, 1.0), y.high);
  include(y.low, std::min(y.high, -1.0));
  return has_zero(y) ? hull(result, {0, 0, false}) : result;
}

Interval integer_modulo(const Interval& x, const Interval& y) {
  const bool finite = !has_infinity(x) && !has_infinity(y);
  if (is_point(y) && y.low != 0 && finite) {
    const double quotient = std::floor(x.low / y.low);
    if (quotient == std::floor(x.high / y.low)) {  // no wrap in between
      const double low = x.low - y.low * quotient;
      const double high = x.high - y.low * quotient;
      return {low + 0.0, high + 0.0, false};
    }
  }
  Interval result{std::min(0.0, y.low + 1), std::max(0.0, y.high - 1), false};
  if (x.low >= 0 && y.low >= 0) {
    result.high = std::min(result.high, x.high);
  }
  return result;
}

namespace {

Interval within(Interval x, double low, double high) {
  x.low = std::clamp(x.low, low, high);
  x.high = std::clamp(x.high, low, high);
  return x;
}

// An increasing function, evaluated within 2 ulp.
template <typename Function>
Interval increasing(const Interval& x, const Function& f) {
  return widened({f(x.low), f(x.high), x.may_be_nan}, 2);
}

// A function of x >= 0, NaN below.
template <typename Function>
Interval increasing_from_zero(const Interval& x, const Function& f) {
  if (x.high < 0) {
    return everything_and_nan();
  }
  Interval result = increasing({std::max(x.low, 0.0), x.high, x.may_be_nan}, f);
  result.may_be_nan = x.may_be_nan || x.low < 0;
  return result;
}

// gelu and silu: falling to a minimum, then rising; NaN at -inf. Left of the minimum both end in
// products of a large and a tiny number, whose error is absolute.
template <typename Function>
Interval dipping(const Interval& x, double lowest_at, const Function& f) {
  constexpr double kSlack = 1e-14;
  const double low = f(std::clamp(lowest_at, x.low, x.high));
  const double at_low = x.low == -kInfinity ? 0 : f(x.low);
  const double at_high = x.high == -kInfinity ? 0 : f(x.high);
  Interval result{low - kSlack, std::max(at_low, at_high) + kSlack, false};
  if (std::isnan(low)) {
    result.low = -kSlack;
  }
  result.may_be_nan = x.may_be_nan || x.low == -kInfinity;
  return widened(result, 4);
}

Interval bound_sin(const Interval& x, double first_maximum) {
  const double period = 2 * std::acos(-1.0);
  constexpr double kLargest = 1e6;
  constexpr double kSlack = 1e-6;
  Interval result{-1, 1, x.may_be_nan || has_infinity(x)};
  if (std::fabs(x.low) > kLargest || std::fabs(x.high) > kLargest || x.high - x.low >= period) {
    return result;
  }
  const auto reaches = [&](double extremum) {
    const double next = extremum + period * std::ceil((x.low - kSlack - extremum) / period);
    return next <= x.high + kSlack;
  };
  // f(x) = cos(x - first_maximum)
  const double a = std::cos(x.low - first_maximum);
  const double b = std::cos(x.high - first_maximum);
  constexpr double kRounding = 1e-9;  // of the shift by first_maximum
  if (!reaches(first_maximum + period / 2)) {
    result.low = std::max(-1.0, std::min(a, b) - kRounding);
  }
  if (!reaches(first_maximum)) {
    result.high = std::min(1.0, std::max(a, b) + kRounding);
  }
  return result;
}

}  // namespace

Interval bound_function(Op op, const Interval& x) {
  switch (op) {
    case Op::Exp:
      return within(increasing(x, [](double v) { return std::exp(v); }), 0, kInfinity);
    case Op::Exp2:
      return within(increasing(x, [](double v) { return std::exp2(v); }), 0, kInfinity);
    case Op::Log:
      return increasing_from_zero(x, [](double v) { return std::log(v); });
    case Op::Log2:
      return increasing_from_zero(x, [](double v) { return std::log2(v); });
    case Op::Sqrt:
      return within(increasing_from_zero(x, [](double v) { return std::sqrt(v); }), 0, kInfinity);
    case Op::Rsqrt:
      if (x.low <= 0) {
        return {-kInfinity, kInfinity, x.may_be_nan || x.low < 0};  // rsqrt(-0) is -inf
      }
      return within(widened({1 / std::sqrt(x.high), 1 / std::sqrt(x.low), x.may_be_nan}, 2), 0,
                    kInfinity);
    case Op::Tanh:
      return within(increasing(x, [](double v) { return std::tanh(v); }), -1, 1);
    case Op::Erf:
      return within(increasing(x, [](double v) { return std::erf(v); }), -1, 1);
    case Op::Sigmoid:
      return within(increasing(x, sigmoid), 0, 1);
    case Op::Gelu:
      return dipping(x, -0.75179162269498,
                     [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
    case Op::Silu:
      return dipping(x, -1.27846454276107, [](double v) { return v * sigmoid(v); });
    case Op::Sin:
      return bound_sin(x, std::acos(0.0));
    case Op::Cos:
      return bound_sin(x, 0);
    default:
      return {};
  }
}

}  // namespace attngen::expr
