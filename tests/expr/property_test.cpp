// Properties that hold for every expression, on random ones. The seed is in each failure's message.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <random>

#include "expr/bound.h"
#include "expr/evaluate.h"
#include "expr/parse.h"
#include "expr/print.h"
#include "expr/simplify.h"
#include "random_expr.h"
#include "traced.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

constexpr int kDepth = 5;

Expr random_of_any_type(RandomExpr& random, uint64_t seed) {
  switch (seed % 4) {
    case 0:
      return random.make_int(kDepth);
    case 1:
      return random.make_bool(kDepth);
    default:
      return random.make_float(kDepth);
  }
}

bool close(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * (1 + std::max(std::fabs(a), std::fabs(b)));
}

// Ints and Bools exactly.
void check_simplified(uint64_t seed, const Expr& e, const Expr& simple,
                      const std::vector<double>& values, double expected) {
  const double actual = Program(simple, all_names())(values);
  const bool right = e.type() == Type::Float ? close(expected, actual, 1e-5) : expected == actual;
  CHECK_MESSAGE(right, fmt::format("seed {}: {} is {}, but {} is {} at {}", seed, print(e),
                                   expected, print(simple), actual, fmt::join(values, ", ")));
}

}  // namespace

TEST_CASE("simplified equals original") {
  int compared[] = {0, 0, 0};  // by type
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomExpr random(seed);
    const Expr e = random_of_any_type(random, seed);
    const Expr simple = simplify(e);
    CHECK_MESSAGE(simple.type() == e.type(), fmt::format("seed {}: {}", seed, print(e)));
    for (int sample = 0; sample < 4; ++sample) {
      const std::vector<double> values = random.values();
      const Traced expected = traced(e, values);
      if (!expected.tame || !expected.finite) {
        continue;
      }
      ++compared[static_cast<int>(e.type())];
      check_simplified(seed, e, simple, values, expected.value);
    }
  }
  for (const int count : compared) {
    CHECK(count > 1000);
  }
}

TEST_CASE("what makes a number of an infinity or of a NaN does so when it is simplified") {
  int compared = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    RandomExpr random(seed);
    const Expr e = random_of_any_type(random, seed);
    const Expr simple = simplify(e);
    for (int sample = 0; sample < 4; ++sample) {
      const std::vector<double> values = random.special_values();
      const Traced expected = traced(e, values);
      if (!expected.tame || !std::isfinite(expected.value)) {
        continue;
      }
      compared += expected.finite ? 0 : 1;
      check_simplified(seed, e, simple, values, expected.value);
    }
  }
  CHECK(compared > 3000);
}

TEST_CASE("whole numbers that fit 32 bits fit when they are simplified") {
  const std::vector<std::string> names = {"i", "j", "k"};
  const std::vector<double> limits = {-0x1p31, 0x1p31 - 1, 2e9, 1.5e9,  0x1p30, 1e9, 65536, 40000,
                                      5,       1,          0,   -1.5e9, -1e9,   -1,  -2,    3};
  constexpr std::array kOps = {Op::Add,      Op::Add,         Op::Subtract, Op::Subtract,
                               Op::Multiply, Op::FloorDivide, Op::Modulo,   Op::Max};
  constexpr std::array kUnary = {Op::Negate, Op::Negate, Op::Abs, Op::Relu, Op::Square};
  std::mt19937_64 random(1);
  const auto one_of = [&](const auto& some) { return some[random() % some.size()]; };
  const auto draw = [&](const auto& self, int depth) -> Expr {
    if (depth == 0 || random() % 6 == 0) {
      return random() % 3 == 0 ? integer(static_cast<int64_t>(one_of(limits)))
                               : variable(one_of(names), Type::Int);
    }
    if (random() % 6 == 0) return make(one_of(kUnary), {self(self, depth - 1)});
    return make(one_of(kOps), {self(self, depth - 1), self(self, depth - 1)});
  };
  int compared = 0;
  for (int n = 0; n < 60'000; ++n) {
    const Expr e = draw(draw, 2 + n % 2);
    const Expr simple = simplify(e);
    if (same(e, simple)) continue;
    const std::vector<double> values{one_of(limits), one_of(limits), one_of(limits)};
    const Traced expected = traced(e, names, values, {});
    if (!expected.tame) continue;
    ++compared;
    const Traced actual = traced(simple, names, values, {});
    const bool right = actual.tame && actual.value == expected.value;
    CHECK_MESSAGE(right, fmt::format("{} is {}, but {} is {} at {}", print(e), expected.value,
                                     print(simple), actual.value, fmt::join(values, ", ")));
  }
  CHECK(compared > 5000);
}

TEST_CASE("simplifying again changes nothing") {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    RandomExpr random(seed);
    const Expr e = random_of_any_type(random, seed);
    const Expr once = simplify(e);
    const Expr twice = simplify(once);
    CHECK_MESSAGE(same(once, twice), fmt::format("seed {}: {} became {} became {}", seed, print(e),
                                                 print(once), print(twice)));
  }
}

TEST_CASE("the interval contains every sampled value") {
  const std::vector<std::string> names = all_names();
  int bounded = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomExpr random(seed);
    const Expr e = random_of_any_type(random, seed);
    std::vector<Interval> boxes;
    for (size_t k = 0; k < names.size(); ++k) {
      const bool is_int = k >= float_names().size();
      const double a = is_int ? std::round(random.within(-10, 10)) : random.within(-4, 4);
      const double b = is_int ? std::round(random.within(-10, 10)) : random.within(-4, 4);
      boxes.push_back({std::min(a, b), std::max(a, b), false});
    }
    const auto box_of = [&](std::string_view name) {
      return boxes[std::find(names.begin(), names.end(), name) - names.begin()];
    };
    const Interval interval = bound(e, {box_of, {}});
    bounded += std::isfinite(interval.low) && std::isfinite(interval.high) ? 1 : 0;
    const Program program(e, names);
    for (int sample = 0; sample < 10; ++sample) {
      std::vector<double> values;
      for (size_t k = 0; k < names.size(); ++k) {
        // The corners matter most.
        const double inside = random.within(boxes[k].low, boxes[k].high);
        const double value = random.one_in(3)   ? boxes[k].low
                             : random.one_in(2) ? boxes[k].high
                                                : inside;
        values.push_back(k >= float_names().size() ? std::round(value) : value);
      }
      const double value = program(values);
      CHECK_MESSAGE(interval.contains(value),
                    fmt::format("seed {}: {} = {} is outside [{}, {}]", seed, print(e), value,
                                interval.low, interval.high));
    }
  }
  CHECK(bounded > 500);
}

TEST_CASE("printed text parses to the same value") {
  Scope scope;
  for (const std::string& name : float_names()) {
    scope.variables[name] = Type::Float;
  }
  for (const std::string& name : int_names()) {
    scope.variables[name] = Type::Int;
  }
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomExpr random(seed);
    const Expr e = random_of_any_type(random, seed);
    const auto again = parse(print(e), scope);
    const auto* parsed = std::get_if<Expr>(&again);
    REQUIRE_MESSAGE(parsed != nullptr,
                    fmt::format("seed {}: {}: {}", seed, print(e), std::get<Error>(again).message));
    CHECK_MESSAGE(print(*parsed) == print(e), fmt::format("seed {}", seed));
    const std::vector<double> values = random.values();
    const double a = Program(e, all_names())(values);
    const double b = Program(*parsed, all_names())(values);
    CHECK_MESSAGE((a == b || (std::isnan(a) && std::isnan(b))),
                  fmt::format("seed {}: {}", seed, print(e)));
  }
}
