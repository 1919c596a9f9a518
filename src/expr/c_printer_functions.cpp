// Functions, quotients and powers. The device dialect spends accuracy where attention cannot see it
// (a relative error of a few 2^-22) for the special function unit's speed.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "expr/bound.h"
#include "expr/c_printer.h"
#include "expr/decimal.h"

namespace attngen::expr {
namespace {

// Whether a divisor is never so small that its reciprocal overflows: 1 + exp2(x), as in sigmoids.
bool exceeds_one(const Expr& divisor) {
  if (divisor.op() != Op::Add) return false;
  const auto has = [&](size_t i) {
    return divisor.operand(i).is_number() && divisor.operand(i).number() >= 1 &&
           divisor.operand(1 - i).op() == Op::Exp2;
  };
  return has(0) || has(1);
}

}  // namespace

Text CPrinter::print_divide(const Expr& e) {
  if (!device_) {
    return infix(e, "/");
  }
  const Expr& divisor = e.operand(1);
  if (exceeds_one(divisor)) {
    const std::string inverse = fmt::format("reciprocal({})", argument(divisor));
    if (e.operand(0).is_number(1)) return {inverse};
    return {fmt::format("{} * {}", at(e.operand(0), Precedence::Product), inverse),
            Precedence::Product};
  }
  const double reciprocal = divisor.is_number() ? 1 / divisor.number() : 0;
  if (rounded_apart_.divides(e)) return rounded_quotient(e);
  if (!is_normal_float(reciprocal)) {
    return call("__fdividef", e);
  }
  const std::string factor = is_power_of_two(std::fabs(reciprocal))
                                 ? float_literal(reciprocal)
                                 : fmt::format("(1.0f / {})", float_literal(divisor.number()));
  return {fmt::format("{} * {}", at(e.operand(0), Precedence::Product), factor),
          Precedence::Product};
}

// Whatever nvcc's --use_fast_math makes of x / y.
Text CPrinter::rounded_quotient(const Expr& e) {
  return device_ ? call("__fdiv_rn", e) : infix(e, "/");
}

Text CPrinter::print_integer_division(const Expr& e) {
  const Expr& divisor = e.operand(1);
  const bool divides = e.op() == Op::FloorDivide;
  const bool is_plain = e.operand(0).op() == Op::Variable && divisor.is_number();
  if (is_plain && divisor.number() > 0 && names_.divided) {
    const int by = static_cast<int>(divisor.number());
    std::string own = names_.divided(e.operand(0).name(), e.op(), by);
    if (!own.empty()) return {std::move(own)};
  }
  if (!divisor.is_number() || !is_power_of_two(divisor.number())) {
    return call(divides ? "floor_divide" : "floor_modulo", e);
  }
  // Of two's complement, a shift floors and a mask is the positive remainder. Compilers warn about
  // either beside arithmetic without parentheses.
  const std::string dividend = at(e.operand(0), Precedence::Unary);
  const int value = static_cast<int>(divisor.number());
  return {divides ? fmt::format("({} >> {})", dividend, std::ilogb(divisor.number()))
                  : fmt::format("({} & {})", dividend, value - 1)};
}

// Not by an approximate quotient: 6.0 // 3.0 is 2.
Text CPrinter::print_float_division(const Expr& e) {
  if (e.op() == Op::Modulo) {
    return call("float_modulo", e);
  }
  return {fmt::format("{}({})", device_ ? "floorf" : "floor", rounded_quotient(e).text)};
}

// exp(x) is exp2(x log2 e); a constant factor of x takes log2 e in.
Text CPrinter::print_exp(const Expr& e) {
  if (!device_) {
    return call("exp", e);
  }
  const Expr& x = e.operand(0);
  const Expr* scaled = &x;
  double factor = std::numbers::log2e;
  for (size_t i = 0; i < 2 && x.op() == Op::Multiply; ++i) {
    if (x.operand(i).is_number() && is_normal_float(factor * x.operand(i).number())) {
      factor *= x.operand(i).number();
      scaled = &x.operand(1 - i);
      break;
    }
  }
  if (named_.contains(x.identity())) {
    factor = std::numbers::log2e;
    scaled = &x;
  }
  return {
      fmt::format("exp2_approx({} * {})", at(*scaled, Precedence::Product), float_literal(factor))};
}

Text CPrinter::print_power(const Expr& e) {
  const int exponent = small_exponent(e);
  if (!device_) return call("pow", e);
  if (exponent == 0) {
    const bool positive = bound(e.operand(0)).low >= 0;
    return call(positive ? "positive_power" : "real_power", e);
  }
  const std::string power =
      fmt::format("power<{}>({})", std::abs(exponent), argument(e.operand(0)));
  return {exponent > 0 ? power : fmt::format("__fdividef(1.0f, {})", power)};
}

Text CPrinter::print_extremum(const Expr& e) {
  const bool is_min = e.op() == Op::Min;
  if (e.type() == Type::Float) {
    const std::string function = is_min ? "fmin" : "fmax";
    return call(device_ ? function + "f" : function, e);
  }
  return call(device_ ? (is_min ? "min" : "max") : (is_min ? "min_int" : "max_int"), e);
}

Text CPrinter::print_function(const Expr& e) {
  const bool is_int = e.type() == Type::Int;
  const std::string zero = is_int ? "0" : literal(0);
  switch (e.op()) {
    case Op::Abs:
      return call(device_ ? (is_int ? "abs" : "fabsf") : (is_int ? "llabs" : "fabs"), e);
    case Op::Relu: {
      const std::string max = is_int ? (device_ ? "max" : "max_int") : (device_ ? "fmaxf" : "fmax");
      return {fmt::format("{}({}, {})", max, argument(e.operand(0)), zero)};
    }
    case Op::Square:
      if (e.operand(0).op() == Op::Variable) {
        const std::string x = at(e.operand(0), Precedence::Unary);
        return {fmt::format("{} * {}", x, x), Precedence::Product};
      }
      return call(!device_ && is_int ? "square_int" : "square", e);
    case Op::Sign:
      return call(!device_ && is_int ? "sign_int" : "sign", e);
    case Op::Exp2:
      return call(device_ ? "exp2_approx" : "exp2", e);
    case Op::Log:
      return call(logarithm(e, "log"), e);
    case Op::Log2:
      return call(logarithm(e, "log2"), e);
    case Op::Tanh:
      return call(device_ ? "tanh_approx" : "tanh", e);
    case Op::Sin:
      return call(device_ ? "sine" : "sin", e);
    case Op::Cos:
      return call(device_ ? "cosine" : "cos", e);
    case Op::Erf:
      return call(device_ ? "error_function" : "erf", e);
    case Op::Sqrt:
      return call(root(e), e);
    case Op::Floor:
      return call(device_ ? "floorf" : "floor", e);
    case Op::ToInt:
      return call(device_ ? "__float2int_rd" : "to_int", e);
    case Op::Rsqrt:
      return call(device_ ? "rsqrtf" : "rsqrt", e);
    default:  // sigmoid, gelu, silu; RowMax, RowSum: the emitter's to compute, printed for messages
      return call(std::string(spelling(e.op())), e);
  }
}

std::string CPrinter::logarithm(const Expr& e, std::string_view name) const {
  if (!device_) return std::string(name);
  return fmt::format("{}{}f", names_.quick && names_.quick(e) ? "__" : "", name);
}

// Correctly rounded it takes a branch, and ten instructions.
std::string CPrinter::root(const Expr& e) const {
  if (!device_) return "sqrt";
  const bool quick = names_.quick && names_.quick(e) && !rounded_apart_.contains(e);
  return quick ? "square_root" : "sqrtf";
}

}  // namespace attngen::expr
