// Bounds at many places at a time, against those of one after the other.
#include "expr/bound_lanes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "expr/print.h"
#include "random_expr.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

constexpr size_t kLanes = LaneBounder::kLanes;

// By name, points: negative ones, and such as no double holds with a fraction.
using Places = std::map<std::string, std::array<double, kLanes>, std::less<>>;
Places random_places(std::mt19937_64& random) {
  Places places;
  for (const std::string& name : int_names()) {
    for (double& value : places[name]) {
      value = static_cast<double>(static_cast<int64_t>(random() % 41) - 20);
      if (random() % 16 == 0) value *= 0x1p54;
    }
  }
  return places;
}

void check_places(const Expr& e, const Places& places) {
  LaneBounder lanes(e);
  for (const auto& [name, values] : places) lanes.set(name, values);
  const LaneBounder::Lanes& found = lanes.bound();
  for (size_t place = 0; place < kLanes; ++place) {
    const Interval expected = bound(e, {[&](std::string_view name) -> Interval {
                                          const auto values = places.find(name);
                                          if (values == places.end()) return {};
                                          return {values->second[place], values->second[place]};
                                        },
                                        {}});
    const Interval actual = found.at(place);
    const bool same = actual.low == expected.low && actual.high == expected.high &&
                      actual.may_be_nan == expected.may_be_nan;
    CHECK_MESSAGE(same, fmt::format("{} is [{}, {}], not [{}, {}]", print(e), actual.low,
                                    actual.high, expected.low, expected.high));
  }
}

}  // namespace

TEST_CASE("bounds at many places are those at each") {
  std::mt19937_64 values(7);
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomExpr random(seed);
    const Expr e = seed % 4 == 0   ? random.make_float(4)
                   : seed % 2 == 0 ? random.make_int(4)
                                   : random.make_bool(4);
    Places places = random_places(values);
    if (seed % 3 == 0) places.erase(int_names()[0]);  // unknown
    check_places(e, places);
  }
}

TEST_CASE("quotients and remainders of what lies between two numbers, also where one is large") {
  const Expr condition = make(Op::Less, {variable("x", Type::Float), number(0)});
  const Expr between =
      make(Op::Select, {condition, variable("i", Type::Int), variable("j", Type::Int)});
  std::mt19937_64 random(7);
  for (const double large : {0.0, 0x1p54, -0x1p52 - 1}) {
    for (const size_t place : {4, 5}) {
      Places places;
      for (const std::string& name : int_names()) {
        for (double& value : places[name]) value = static_cast<double>(random() % 41) - 20;
      }
      places["i"][place] = places["j"][place] = large;
      for (const int divisor : {1, 2, 3, 8, -3}) {
        check_places(make(Op::FloorDivide, {between, integer(divisor)}), places);
        check_places(make(Op::Modulo, {between, integer(divisor)}), places);
      }
    }
  }
}

TEST_CASE("places that are not set keep what they had") {
  LaneBounder lanes(make(Op::Add, {variable("i", Type::Int), variable("j", Type::Int)}));
  lanes.set("i", 2);
  lanes.set("j", 3);
  CHECK(lanes.bound().at(kLanes - 1).low == 5);
  lanes.set("j", std::array{7.0, 8.0});
  lanes.set("unread", 1);
  CHECK(lanes.bound().at(1).high == 10);
  CHECK(lanes.bound().at(2).high == 5);
}
