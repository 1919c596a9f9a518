#include "spec/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/evaluate.h"
#include "expr/ops.h"
#include "expr/simplify.h"

namespace attngen::spec {
namespace {

using expr::Error;
using expr::Expr;
using expr::Op;

bool divides_by_zero(const Expr& e) {
  const bool divides = e.op() == Op::FloorDivide || e.op() == Op::Modulo;
  return divides && e.type() == expr::Type::Int && e.operand(1).is_number(0);
}

// Of an i32 in a simplified expression, where what i32 does not hold stays unfolded.
bool overflows(const Expr& e) {
  if (e.type() != expr::Type::Int || e.op() == Op::Load || e.operands().empty()) return false;
  if (!std::ranges::all_of(e.operands(), [](const Expr& x) { return x.is_number(); })) return false;
  const double value = expr::evaluate(e, {});
  return value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max();
}

bool leaves_f32(const Expr& e) {
  if (!e.is_number() || e.type() != expr::Type::Float || !std::isfinite(e.number())) return false;
  return e.number() != 0 && !expr::is_normal_float(e.number());
}

std::optional<Error> wrong_folded(const Expr& e) {
  const Expr simple = expr::simplify(e);
  if (const Expr* found = expr::find_node(simple, overflows)) {
    return Error{
        found->span(),
        fmt::format("the value does not fit in i32: it is {:.0f}", expr::evaluate(*found, {})),
        "add '.0' to a number to make it an f32"};
  }
  if (const Expr* found = expr::find_node(simple, leaves_f32)) {
    return Error{
        found->span(),
        fmt::format("numbers come to {:.3g} here, which does not fit in f32", found->number()),
        "f32 holds 0, and 1.18e-38 to 3.4e38 in size"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> wrong_number(const Expr& e) {
  if (const Expr* found = expr::find_node(e, divides_by_zero)) {
    return Error{found->operand(1).span(),
                 fmt::format("'{}' divides by 0", expr::spelling(found->op())),
                 "the result is 0 for every pair: write another divisor"};
  }
  return wrong_folded(e);
}

}  // namespace attngen::spec
