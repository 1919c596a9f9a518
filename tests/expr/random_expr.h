// Random well-typed expressions for property tests.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "expr/expr.h"

namespace attngen::expr::testing {

// The names that random expressions mention.
inline const std::vector<std::string>& float_names() {
  static const std::vector<std::string> names = {"x", "y", "z"};
  return names;
}
inline const std::vector<std::string>& int_names() {
  static const std::vector<std::string> names = {"i", "j"};
  return names;
}
// Floats, then Ints: the slots of a Program.
inline std::vector<std::string> all_names() {
  std::vector<std::string> names = float_names();
  names.insert(names.end(), int_names().begin(), int_names().end());
  return names;
}

class RandomExpr {
 public:
  explicit RandomExpr(uint64_t seed) : random_(seed) {}

  Expr make_float(int depth) {
    if (depth <= 0 || one_in(8)) {
      return leaf();
    }
    // A subexpression used again, so that sharing is tested.
    if (!shared_.empty() && one_in(6)) {
      return shared_[below(shared_.size())];
    }
    Expr e = float_node(depth - 1);
    if (one_in(3)) {
      shared_.push_back(e);
    }
    return e;
  }
  Expr make_int(int depth) {
    if (depth <= 0 || one_in(6)) {
      if (one_in(2)) {
        return variable(int_names()[below(int_names().size())], Type::Int);
      }
      return integer(one_in(20) ? std::numeric_limits<int32_t>::min()
                                : static_cast<int64_t>(below(9)) - 4);
    }
    constexpr std::array kBinary = {Op::Add,    Op::Subtract, Op::Multiply, Op::FloorDivide,
                                    Op::Modulo, Op::Min,      Op::Max};
    constexpr std::array kUnary = {Op::Negate, Op::Abs, Op::Sign, Op::Relu, Op::Square};
    switch (below(6)) {
      case 0:
        return make(kUnary[below(kUnary.size())], {make_int(depth - 1)});
      case 1:
        return make(Op::Select, {make_bool(depth - 1), make_int(depth - 1), make_int(depth - 1)});
      case 2:
        return make(Op::ToInt, {make_float(depth - 1)});
      default:
        return make(kBinary[below(kBinary.size())], {make_int(depth - 1), make_int(depth - 1)});
    }
  }
  Expr make_bool(int depth) {
    if (depth <= 0 || one_in(10)) {
      return boolean(one_in(2));
    }
    constexpr std::array kComparisons = {Op::Less,         Op::LessEqual, Op::Greater,
                                         Op::GreaterEqual, Op::Equal,     Op::NotEqual};
    switch (below(7)) {
      case 0:
        return make(Op::Not, {make_bool(depth - 1)});
      case 1:
        return make(Op::And, {make_bool(depth - 1), make_bool(depth - 1)});
      case 2:
        return make(Op::Or, {make_bool(depth - 1), make_bool(depth - 1)});
      case 3:
        return make(kComparisons[below(kComparisons.size())],
                    {make_float(depth - 1), make_float(depth - 1)});
      case 4:
        return make(Op::Select, {make_bool(depth - 1), make_bool(depth - 1), make_bool(depth - 1)});
      default:
        return make(kComparisons[below(kComparisons.size())],
                    {make_int(depth - 1), make_int(depth - 1)});
    }
  }
  // A value for each of all_names().
  std::vector<double> values() {
    std::vector<double> result;
    for (size_t k = 0; k < float_names().size(); ++k) {
      result.push_back(std::uniform_real_distribution<double>(-3, 3)(random_));
    }
    for (size_t k = 0; k < int_names().size(); ++k) {
      result.push_back(static_cast<double>(below(21)) - 10);
    }
    return result;
  }
  // Such as rules about numbers forget.
  std::vector<double> special_values() {
    constexpr std::array kFloats = {-kInfinity, kInfinity, std::numeric_limits<double>::quiet_NaN(),
                                    0.0,        1.5,       -0.75};
    constexpr std::array<int64_t, 5> kInts = {std::numeric_limits<int32_t>::min(),
                                              std::numeric_limits<int32_t>::max(), -1, 0, 3};
    std::vector<double> result;
    for (size_t k = 0; k < float_names().size(); ++k) {
      result.push_back(kFloats[below(kFloats.size())]);
    }
    for (size_t k = 0; k < int_names().size(); ++k) {
      result.push_back(static_cast<double>(kInts[below(kInts.size())]));
    }
    return result;
  }
  double within(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  size_t below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }
  bool one_in(size_t n) { return below(n) == 0; }

 private:
  Expr leaf() {
    if (one_in(3)) {
      constexpr std::array kNumbers = {0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.1, 7.25};
      return number(kNumbers[below(kNumbers.size())]);
    }
    return variable(float_names()[below(float_names().size())], Type::Float);
  }
  Expr float_node(int depth) {
    constexpr std::array kSmooth = {Op::Exp,  Op::Exp2,    Op::Log,   Op::Log2,   Op::Sqrt,
                                    Op::Tanh, Op::Sigmoid, Op::Rsqrt, Op::Square, Op::Erf,
                                    Op::Gelu, Op::Silu,    Op::Sin,   Op::Cos,    Op::Negate};
    constexpr std::array kKinked = {Op::Abs, Op::Relu, Op::Floor, Op::Sign};
    constexpr std::array kBinary = {Op::Add, Op::Subtract, Op::Multiply, Op::Divide};
    constexpr std::array kKinkedBinary = {Op::Min, Op::Max, Op::FloorDivide, Op::Modulo, Op::Pow};
    const size_t choice = below(12);
    if (choice < 3) {
      return make(kSmooth[below(kSmooth.size())], {make_float(depth)});
    }
    if (choice < 8) {
      Expr a = make_float(depth);
      Expr b = make_float(depth);
      return make(kBinary[below(kBinary.size())], {std::move(a), std::move(b)});
    }
    if (choice == 8) {
      return make(kKinked[below(kKinked.size())], {make_float(depth)});
    }
    if (choice == 9) {
      Expr a = make_float(depth);
      Expr b = make_float(depth);
      return make(kKinkedBinary[below(kKinkedBinary.size())], {std::move(a), std::move(b)});
    }
    if (choice == 10) {
      return make(Op::ToFloat, {make_int(depth)});
    }
    Expr condition = make_bool(depth);
    Expr yes = make_float(depth);
    Expr no = make_float(depth);
    return make(Op::Select, {std::move(condition), std::move(yes), std::move(no)});
  }

  std::mt19937_64 random_;
  std::vector<Expr> shared_;
};

}  // namespace attngen::expr::testing
