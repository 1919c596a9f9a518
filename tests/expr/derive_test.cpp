#include "expr/derive.h"

#include <doctest/doctest.h>

#include <cmath>

#include "expr/evaluate.h"
#include "scope.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

Expr derivative(const Expr& e, const std::string& variable) {
  const std::vector<std::string> variables = {variable};
  const auto result = derive(e, variables);
  REQUIRE(std::holds_alternative<std::vector<Expr>>(result));
  return std::get<std::vector<Expr>>(result)[0];
}

double slope_at(const Expr& e, double x) {
  return evaluate(derivative(e, "x"), [&](std::string_view) { return x; });
}
double slope_at(std::string_view text, double x) { return slope_at(parsed(text), x); }

}  // namespace

TEST_CASE("simple derivatives read simply") {
  const auto derived = [](std::string_view text) { return print(derivative(parsed(text), "x")); };
  CHECK(derived("x") == "1.0");
  CHECK(derived("y") == "0.0");
  CHECK(derived("x * y + 3") == "y");
  CHECK(derived("square(x)") == "2 * x");
  CHECK(derived("exp(x - y)") == "exp(x - y)");
  CHECK(derived("x / y") == "1 / y");
  CHECK(derived("log(x)") == "1 / x");
  CHECK(derived("30 * tanh(x / 30)") == "1 - square(tanh(x / 30))");
  CHECK(derived("x if h < 3 else y") == "1.0 if h < 3 else 0.0");
  CHECK(derived("slopes[h] * x") == "slopes[h]");
}

TEST_CASE("a shared node has the sum of its users' adjoints") {
  // Forward over the tree, not over the sharing, would count tanh(x) once.
  const Expr t = parsed("tanh(x)");
  const Expr square = make(Op::Multiply, {t, t});
  const double value = std::tanh(0.7);
  CHECK(slope_at(square, 0.7) == doctest::Approx(2 * value * (1 - value * value)));

  // y = exp(x) / 2: y * y + y has slope (2 y + 1) y.
  const Expr y = parsed("exp(x) / 2");
  const Expr sum = make(Op::Add, {make(Op::Multiply, {y, y}), y});
  const double at = std::exp(0.3) / 2;
  CHECK(slope_at(sum, 0.3) == doctest::Approx((2 * at + 1) * at));
}

TEST_CASE("a chain of shared nodes is derived once a node") {
  Expr e = parsed("x");
  for (int i = 0; i < 60; ++i) {
    e = make(Op::Multiply, {number(0.5), make(Op::Add, {e, e})});  // 2^60 paths
  }
  CHECK(slope_at(e, 1) == 1);
}

TEST_CASE("kinks have the declared slope") {
  CHECK(slope_at("abs(x)", 0) == 0);
  CHECK(slope_at("abs(x)", -2) == -1);
  CHECK(slope_at("relu(x)", 0) == 0);
  CHECK(slope_at("relu(x)", 1) == 1);
  CHECK(slope_at("max(x, 0)", 0) == 0.5);
  CHECK(slope_at("min(x, 0)", 0) == 0.5);
  CHECK(slope_at("clamp(x, -1, 1)", 3) == 0);
  CHECK(slope_at("clamp(x, -1, 1)", 0.5) == 1);
  CHECK(slope_at("floor(x)", 0.5) == 0);
  CHECK(slope_at("pow(x, 3)", -2) == doctest::Approx(12));
  CHECK(slope_at("pow(2, x)", 1) == doctest::Approx(2 * std::log(2.0)));
  CHECK(slope_at("x % 3", 4) == 1);
}

TEST_CASE("what has no derivative says so, at its place") {
  const auto error_of = [](std::string_view text) {
    const std::vector<std::string> variables = {"x"};
    const auto result = derive(parsed(text), variables);
    REQUIRE(std::holds_alternative<Error>(result));
    const Error& error = std::get<Error>(result);
    return std::string(text.substr(error.span.begin, error.span.end - error.span.begin)) + ": " +
           error.message;
  };
  CHECK(error_of("y + rowmax(x)") == "rowmax(x): 'rowmax' has no derivative here");
  CHECK(error_of("y % (x + 1)") == "x + 1: '%' has no derivative by its divisor");
}
