#include "expr/scalar.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace attngen::expr {
namespace {

double floor_divide(Type type, double a, double b) {
  if (type == Type::Int) {
    return b == 0 ? 0 : std::floor(a / b) + 0.0;
  }
  return std::floor(a / b);
}

double modulo(Type type, double a, double b) {
  if (type == Type::Int) {
    return b == 0 ? 0 : a - b * std::floor(a / b);
  }
  return a - b * std::floor(a / b);
}

// As the instruction does: what is beyond 32 bits becomes the nearest that is not, a NaN 0.
double to_int(double x) {
  constexpr double kLowest = std::numeric_limits<int32_t>::min();
  constexpr double kLargest = std::numeric_limits<int32_t>::max();
  return std::isnan(x) ? 0 : std::clamp(std::floor(x), kLowest, kLargest) + 0.0;
}

}  // namespace

double apply(Op op, Type type, double a, double b, double c) {
  switch (op) {
    case Op::Negate:
      return type == Type::Int ? 0 - a : -a;  // an Int has no -0
    case Op::Add:
      return a + b;
    case Op::Subtract:
      return a - b;
    case Op::Multiply:
      return type == Type::Int ? a * b + 0.0 : a * b;
    case Op::Divide:
      return a / b;
    case Op::FloorDivide:
      return floor_divide(type, a, b);
    case Op::Modulo:
      return modulo(type, a, b);
    case Op::Less:
      return a < b ? 1 : 0;
    case Op::LessEqual:
      return a <= b ? 1 : 0;
    case Op::Greater:
      return a > b ? 1 : 0;
    case Op::GreaterEqual:
      return a >= b ? 1 : 0;
    case Op::Equal:
      return a == b ? 1 : 0;
    case Op::NotEqual:
      return a != b ? 1 : 0;
    case Op::And:
      return a != 0 && b != 0 ? 1 : 0;
    case Op::Or:
      return a != 0 || b != 0 ? 1 : 0;
    case Op::Not:
      return a == 0 ? 1 : 0;
    case Op::Select:
      return a != 0 ? b : c;
    case Op::ToFloat:
      return a;
    case Op::Abs:
      return std::fabs(a);
    case Op::Min:
      return std::fmin(a, b);
    case Op::Max:
      return std::fmax(a, b);
    case Op::Exp:
      return std::exp(a);
    case Op::Exp2:
      return std::exp2(a);
    case Op::Log:
      return std::log(a);
    case Op::Log2:
      return std::log2(a);
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Rsqrt:
      return 1 / std::sqrt(a);
    case Op::Tanh:
      return std::tanh(a);
    case Op::Sigmoid:
      return sigmoid(a);
    case Op::Relu:
      return std::fmax(a, 0.0);
    case Op::Square:
      return a * a;
    case Op::Pow:
      return std::pow(a, b);
    case Op::Erf:
      return std::erf(a);
    case Op::Gelu:
      return 0.5 * a * (1 + std::erf(a / std::numbers::sqrt2));
    case Op::Silu:
      return a * sigmoid(a);
    case Op::Sin:
      return std::sin(a);
    case Op::Cos:
      return std::cos(a);
    case Op::Floor:
      return std::floor(a);
    case Op::ToInt:
      return to_int(a);
    case Op::Sign:
      return (a > 0 ? 1 : 0) - (a < 0 ? 1 : 0);
    case Op::Saturate:
      return std::clamp(a, -0x1p31, 0x1p31 - 1);
    case Op::Number:
    case Op::Variable:
    case Op::Load:
    case Op::RowMax:
    case Op::RowSum:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace attngen::expr
