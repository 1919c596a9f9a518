#include "expr/bound.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "scope.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

using Boxes = std::map<std::string, Interval, std::less<>>;

Interval bounds_of(std::string_view text, const Boxes& boxes) {
  const auto box = [&](std::string_view name) { return boxes.find(name)->second; };
  return bound(parsed(text), {box, box});
}

void check(const Interval& interval, double low, double high, bool may_be_nan = false) {
  CHECK(interval.low == low);
  CHECK(interval.high == high);
  CHECK(interval.may_be_nan == may_be_nan);
}

}  // namespace

TEST_CASE("a causal window's tiles are empty, full or partial") {
  const auto mask = [](double q_low, double q_high, double kv_low, double kv_high) {
    return bounds_of("kv_idx <= q_pos and q_pos - kv_idx < window",
                     {{"q_pos", {q_low, q_high}}, {"kv_idx", {kv_low, kv_high}}});
  };
  CHECK(mask(128, 255, 0, 127).is_true());
  CHECK(mask(128, 255, 256, 383).is_false());
  const Interval diagonal = mask(128, 255, 128, 255);
  CHECK_FALSE(diagonal.is_true());
  CHECK_FALSE(diagonal.is_false());
  CHECK(mask(8192, 8319, 0, 127).is_false());
  CHECK_FALSE(mask(4096, 4223, 127, 128).is_true());
}

TEST_CASE("integers are exact") {
  const Boxes boxes = {{"q_idx", {-7, 9}}, {"kv_idx", {2, 3}}, {"h", {-2, 2}}, {"b", {64, 70}}};
  check(bounds_of("q_idx + kv_idx", boxes), -5, 12);
  check(bounds_of("q_idx - kv_idx", boxes), -10, 7);
  check(bounds_of("q_idx * kv_idx", boxes), -21, 27);
  check(bounds_of("q_idx // kv_idx", boxes), -4, 4);
  check(bounds_of("q_idx // 2", boxes), -4, 4);
  check(bounds_of("b // 64", boxes), 1, 1);
  check(bounds_of("b % 64", boxes), 0, 6);
  check(bounds_of("q_idx % 4", boxes), 0, 3);
  check(bounds_of("q_idx % h", boxes), -1, 1);
  check(bounds_of("b // h", boxes), -70, 70);
  check(bounds_of("abs(q_idx)", boxes), 0, 9);
  check(bounds_of("square(h)", boxes), 0, 4);
  check(bounds_of("-q_idx", boxes), -9, 7);
  check(bounds_of("max(q_idx, kv_idx)", boxes), 2, 9);
  check(bounds_of("sign(kv_idx)", boxes), 1, 1);
}

TEST_CASE("nothing times an integer that is unknown is nothing") {
  const Boxes boxes = {{"q_idx", {0, 0}}, {"kv_idx", {-kInfinity, kInfinity}}};
  CHECK(bounds_of("q_idx * kv_idx", boxes).is_false());
}

TEST_CASE("a sum saturates at the ends of 32 bits") {
  const auto bounded = [](double low, double high) {
    Bounds bounds;
    bounds.variable = [&](std::string_view) { return Interval{low, high}; };
    return bound(make(Op::Saturate, {parsed("q_idx + 10")}), bounds);
  };
  check(bounded(-7, 9), 3, 19);
  check(bounded(-0x1p40, 2147483640.0), -2147483648.0, 2147483647.0);
}

TEST_CASE("floats know infinities and NaN") {
  const Boxes boxes = {{"x", {-1, 2}},
                       {"y", {0, kInfinity}},
                       {"m", {-kInfinity, 5}},
                       {"l", {3, 4}},
                       {"score", {-1, 1, true}}};
  check(bounds_of("x / y", boxes), -kInfinity, kInfinity, true);
  check(bounds_of("l / x", boxes), -kInfinity, kInfinity, false);
  CHECK(bounds_of("y + m", boxes).may_be_nan);
  CHECK_FALSE(bounds_of("y - m", boxes).may_be_nan);
  CHECK(bounds_of("x * y", boxes).may_be_nan);
  CHECK_FALSE(bounds_of("l * y", boxes).may_be_nan);
  CHECK(bounds_of("log(x)", boxes).may_be_nan);
  CHECK_FALSE(bounds_of("log(y)", boxes).may_be_nan);
  CHECK(bounds_of("sqrt(x)", boxes).may_be_nan);
  check(bounds_of("max(score, 0)", boxes), 0, 1);
  check(bounds_of("relu(score)", boxes), 0, 1);
  CHECK_FALSE(bounds_of("score < 2", boxes).is_true());
  CHECK(bounds_of("score > 2", boxes).is_false());
  const Interval exp = bounds_of("exp(m)", boxes);
  CHECK(exp.low == 0);
  CHECK(exp.high == doctest::Approx(148.413));
  CHECK(bounds_of("tanh(y)", boxes).high == 1);
  CHECK(bounds_of("tanh(y)", boxes).low == doctest::Approx(0));
}

TEST_CASE("a NaN's possible sources are known, whichever operand has them") {
  const Boxes boxes = {{"x", {-1, 2}},         {"y", {0, kInfinity}},
                       {"m", {-kInfinity, 5}}, {"acc", {1, kInfinity}},
                       {"l", {3, 4}},          {"old_m", {-kInfinity, kInfinity}}};
  CHECK(bounds_of("m + y", boxes).may_be_nan);
  CHECK(bounds_of("y * x", boxes).may_be_nan);
  CHECK(bounds_of("acc / acc", boxes).may_be_nan);
  CHECK(bounds_of("l % acc", boxes).may_be_nan);  // l - inf * 0
  CHECK(bounds_of("gelu(m)", boxes).may_be_nan);  // -inf * 0
  CHECK(bounds_of("silu(m)", boxes).may_be_nan);
  CHECK_FALSE(bounds_of("silu(y)", boxes).may_be_nan);
  CHECK(bounds_of("cos(y)", boxes).may_be_nan);
  CHECK(bounds_of("rowsum(old_m)", boxes).may_be_nan);  // inf - inf
  CHECK_FALSE(bounds_of("rowsum(exp(x))", boxes).may_be_nan);
}

TEST_CASE("what a NaN becomes is within the bounds") {
  const Boxes boxes = {{"score", {1, 2, true}}, {"l", {3, 4}}};
  check(bounds_of("min(l, score)", boxes), 1, 4);
  check(bounds_of("min(score, l)", boxes), 1, 4);
  check(bounds_of("sign(score)", boxes), 0, 1);
  check(bounds_of("int(score)", boxes), 0, 2);
}

TEST_CASE("what no float holds is infinite") {
  const Boxes boxes = {{"x", {-10, 20}}};
  check(bounds_of("x * 1e38", boxes), -kInfinity, kInfinity);
  CHECK(bounds_of("x * 1e38 - x * 1e38", boxes).may_be_nan);
  CHECK(bounds_of("x * 1e37", boxes).high == doctest::Approx(2e38));
}

TEST_CASE("powers know an even exponent from an odd one, and a pole") {
  const Boxes boxes = {{"x", {-2, 1}}, {"y", {0, 3}}};
  CHECK(bounds_of("pow(x, 3)", boxes).low == doctest::Approx(-8));
  CHECK(bounds_of("pow(x, 4)", boxes).low <= 0);
  CHECK(bounds_of("pow(x, 4)", boxes).low > -1e-9);
  CHECK(bounds_of("pow(x, 4)", boxes).high == doctest::Approx(16));
  check(bounds_of("pow(x, -1)", boxes), -kInfinity, kInfinity);
  check(bounds_of("rsqrt(y)", boxes), -kInfinity, kInfinity);  // of -0
  CHECK(bounds_of("square(x)", boxes).low == 0);
}

TEST_CASE("a float's quotient is rounded down, and its remainder errs beyond 0") {
  const Boxes boxes = {{"x", {-1, 2}}};
  check(bounds_of("x // 4", boxes), -1, 0);
  const double remainder = 54.4 - 0.1 * std::floor(54.4 / 0.1);
  REQUIRE(remainder < 0);
  CHECK(bounds_of("54.4 % 0.1", boxes).contains(remainder));
}

TEST_CASE("a condition of which nothing is known is one") {
  check(bound(variable("c", Type::Bool), {}), 0, 1);
}

TEST_CASE("conditions choose") {
  const Boxes boxes = {{"x", {-1, 2}}, {"q_idx", {0, 3}}};
  check(bounds_of("x if q_idx < 4 else 100", boxes), -1, 2);
  check(bounds_of("x if q_idx > 3 else 100", boxes), 100, 100);
  check(bounds_of("x if q_idx > 2 else 100", boxes), -1, 100);
}

TEST_CASE("a reduction may run over no pair") {
  const Boxes boxes = {{"score", {-1, 2}}};
  check(bounds_of("rowmax(score)", boxes), -kInfinity, 2);
  check(bounds_of("rowsum(exp(score))", boxes), 0, kInfinity);
}

TEST_CASE("sine and cosine know their extremes") {
  const Boxes boxes = {{"x", {0, 1}}, {"y", {1, 2}}, {"m", {3, 4}}};
  CHECK(bounds_of("sin(x)", boxes).high < 0.85);
  CHECK(bounds_of("sin(y)", boxes).high == 1);
  CHECK(bounds_of("cos(m)", boxes).low == -1);
  CHECK(bounds_of("cos(m)", boxes).high < -0.6);
}

TEST_CASE("one expression is asked about again and again") {
  Bounder bounder(parsed("max(q_idx * 2, kv_idx) if q_idx < 4 else slopes[h]"));
  const auto ask = [&](double low, double high) {
    return bounder.bound({[&](std::string_view) {
                            return Interval{low, high};
                          },
                          [](std::string_view) {
                            return Interval{0.5, 0.75};
                          }});
  };
  check(ask(1, 3), 2, 6);
  check(ask(4, 5), 0.5, 0.75);
  check(ask(1, 3), 2, 6);
  check(ask(3, 4), 0.5, 8);
}

TEST_CASE("what is shared is bounded once") {
  Expr sum = variable("q_idx", Type::Int);
  for (int i = 0; i < 60; ++i) sum = make(Op::Add, {sum, sum});
  check(bound(sum, {[](std::string_view) { return Interval{1, 2}; }, {}}), 0x1p60, 0x1p61);
}
