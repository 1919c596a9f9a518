#include "expr/simplifier.h"

#include <cmath>
#include <utility>

#include "expr/ops.h"
#include "expr/scalar.h"

namespace attngen::expr {
namespace {

bool is_leaf(Op op) { return op == Op::Number || op == Op::Variable || op == Op::Load; }

// A NaN below one of these does not make the whole a NaN.
bool hides_nans(Op op) {
  return is_comparison(op) || op == Op::Min || op == Op::Max || op == Op::Relu || op == Op::Sign ||
         op == Op::ToInt;
}

Op negated(Op comparison) {
  switch (comparison) {
    case Op::Less:
      return Op::GreaterEqual;
    case Op::LessEqual:
      return Op::Greater;
    case Op::Greater:
      return Op::LessEqual;
    case Op::GreaterEqual:
      return Op::Less;
    case Op::Equal:
      return Op::NotEqual;
    default:
      return Op::Equal;
  }
}

}  // namespace

Expr Simplifier::simplify(const Expr& e) {
  const bool guarded = guarded_;
  if (const auto found = done_.find({e.identity(), guarded}); found != done_.end()) {
    return found->second;
  }
  guarded_ = guarded || hides_nans(e.op());
  std::vector<Expr> operands;
  for (const Expr& operand : e.operands()) {
    operands.push_back(simplify(operand));
  }
  guarded_ = guarded;
  Expr simple = is_leaf(e.op()) ? intern(with_operands(e, std::move(operands)))
                                : build(e.op(), std::move(operands), e.span());
  if (!guarded && hides_nans(e.op()) && !hides_nans(simple.op())) {
    simple = simplify(simple);  // max(x, x) is an x that nothing guards any more
  }
  originals_.push_back(e);
  done_.emplace(std::pair(e.identity(), guarded), simple);
  return simple;
}

Expr Simplifier::intern(Expr e) {
  std::vector<Expr>& bucket = interned_[e.hash()];
  for (const Expr& known : bucket) {
    if (same(known, e)) {
      return known;
    }
  }
  bucket.push_back(e);
  return e;
}

Expr Simplifier::constant(Type type, double value, Span span) {
  return intern(expr::constant(type, value, span));
}

Expr Simplifier::build(Op op, std::vector<Expr> operands, Span span) {
  if (Expr simpler = rewritten(op, operands, span)) {
    return simpler;
  }
  // make() converts an Int beside a Float; interning those conversions too keeps sharing.
  Expr made = make(op, std::move(operands), span);
  return intern(std::move(made));
}

Expr Simplifier::rewritten(Op op, const std::vector<Expr>& operands, Span span) {
  if (Expr folded = fold(op, operands, span)) {
    return folded;
  }
  if (is_comparison(op)) {
    return comparison_rule(op, operands, span);
  }
  switch (op) {
    case Op::Negate:
      return negate_rule(operands[0], span);
    case Op::Add:
    case Op::Subtract:
      return sum_rule(op, operands, span);
    case Op::Multiply:
    case Op::Divide:
      return product_rule(op, operands, span);
    case Op::FloorDivide:
    case Op::Modulo:
      return integer_division_rule(op, operands, span);
    case Op::And:
    case Op::Or:
    case Op::Not:
      return logic_rule(op, operands, span);
    case Op::Select:
      return select_rule(operands, span);
    case Op::Min:
    case Op::Max:
      return extremum_rule(op, operands, span);
    case Op::Pow:
      return power_rule(operands, span);
    default:
      return function_rule(op, operands, span);
  }
}

// A NaN stays unfolded, so that the text shows where it comes from; so does what leaves i32.
Expr Simplifier::fold(Op op, const std::vector<Expr>& operands, Span span) {
  if (op == Op::RowMax || op == Op::RowSum) {
    return {};
  }
  double values[3] = {0, 0, 0};
  bool any_float = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_number()) {
      return {};
    }
    values[i] = operands[i].number();
    any_float = any_float || operands[i].type() == Type::Float;
  }
  const Type type = make(op, operands, span).type();
  // The evaluator's operands have been converted: only the type of a // or % tells Ints apart.
  const double value = apply(op, type, values[0], values[1], values[2]);
  const bool fits = type != Type::Int || (value >= std::numeric_limits<int32_t>::min() &&
                                          value <= std::numeric_limits<int32_t>::max());
  return std::isnan(value) || !fits ? Expr() : constant(type, value, span);
}

Expr Simplifier::comparison_rule(Op op, const std::vector<Expr>& operands, Span span) {
  if (!same(operands[0], operands[1])) {
    return {};
  }
  // A Float may be NaN, which equals nothing, itself included.
  const bool strict = op == Op::Less || op == Op::Greater;
  if (operands[0].type() == Type::Float && !strict) {
    return {};
  }
  return constant(Type::Bool, strict || op == Op::NotEqual ? 0 : 1, span);
}

Expr Simplifier::integer_division_rule(Op op, const std::vector<Expr>& operands, Span span) {
  if (operands[0].type() != Type::Int || operands[1].type() != Type::Int) {
    return {};
  }
  if (operands[0].is_number(0) || operands[1].is_number(0)) {
    return constant(Type::Int, 0, span);
  }
  if (operands[1].is_number(1)) {
    return op == Op::FloorDivide ? operands[0] : constant(Type::Int, 0, span);
  }
  return {};
}

Expr Simplifier::logic_rule(Op op, const std::vector<Expr>& operands, Span span) {
  const Expr& a = operands[0];
  if (op == Op::Not) {
    if (a.op() == Op::Not) {
      return a.operand(0);
    }
    const bool exact = a.op() == Op::Equal || a.op() == Op::NotEqual ||
                       (is_comparison(a.op()) && a.operand(0).type() == Type::Int);
    return exact ? build(negated(a.op()), {a.operand(0), a.operand(1)}, span) : Expr();
  }
  const Expr& b = operands[1];
  const double neutral = op == Op::And ? 1 : 0;
  if (a.is_number(neutral) || same(a, b)) {
    return b;
  }
  if (b.is_number(neutral)) {
    return a;
  }
  const bool opposites =
      (a.op() == Op::Not && same(a.operand(0), b)) || (b.op() == Op::Not && same(b.operand(0), a));
  if (a.is_number() || b.is_number() || opposites) {
    return constant(Type::Bool, 1 - neutral, span);
  }
  return {};
}

Expr Simplifier::select_rule(const std::vector<Expr>& operands, Span span) {
  const Expr& condition = operands[0];
  const Expr& yes = operands[1];
  const Expr& no = operands[2];
  if (yes.type() != no.type()) {  // make() has not converted them yet
    return {};
  }
  if (condition.is_number()) {
    return condition.is_number(0) ? no : yes;
  }
  if (same(yes, no)) {
    return yes;
  }
  if (condition.op() == Op::Not) {
    return build(Op::Select, {condition.operand(0), no, yes}, span);
  }
  if (yes.op() == Op::Select && same(yes.operand(0), condition)) {
    return build(Op::Select, {condition, yes.operand(1), no}, span);
  }
  if (no.op() == Op::Select && same(no.operand(0), condition)) {
    return build(Op::Select, {condition, yes, no.operand(2)}, span);
  }
  if (yes.type() != Type::Bool) {
    return {};
  }
  if (yes.is_number(1)) {
    return build(Op::Or, {condition, no}, span);
  }
  if (no.is_number(0)) {
    return build(Op::And, {condition, yes}, span);
  }
  if (yes.is_number(0)) {
    return build(Op::And, {build(Op::Not, {condition}, span), no}, span);
  }
  if (no.is_number(1)) {
    return build(Op::Or, {build(Op::Not, {condition}, span), yes}, span);
  }
  return {};
}

Expr Simplifier::extremum_rule(Op op, const std::vector<Expr>& operands, Span span) {
  const Expr& a = operands[0];
  const Expr& b = operands[1];
  if (a.type() != b.type()) {
    return {};
  }
  if (same(a, b)) {
    return a;
  }
  const double neutral = op == Op::Min ? kInfinity : -kInfinity;
  for (const auto& [x, limit] : {std::pair(a, b), std::pair(b, a)}) {
    if (limit.is_number(neutral) && !keeps_nans(x.type())) {
      return x;
    }
    if (limit.is_number(-neutral)) {
      return limit;
    }
    if (x.op() != op) {
      continue;
    }
    // max(max(x, 1), 2) is max(x, 2); max(max(x, y), x) is max(x, y).
    for (size_t i = 0; i < 2; ++i) {
      if (same(x.operand(i), limit)) {
        return x;
      }
      const Expr both = fold(op, {x.operand(i), limit}, span);
      if (both) {
        return build(op, {x.operand(1 - i), both}, span);
      }
    }
  }
  return {};
}

Expr Simplifier::power_rule(const std::vector<Expr>& operands, Span span) {
  const Expr& base = operands[0];
  const Expr& exponent = operands[1];
  if (base.type() != Type::Float || !exponent.is_number()) {
    return base.is_number(1) ? constant(Type::Float, 1, span) : Expr();
  }
  const double value = exponent.number();
  if (value == 0) {
    return constant(Type::Float, 1, span);
  }
  if (value == 1) {
    return base;
  }
  if (value == 2) {
    return build(Op::Square, {base}, span);
  }
  if (value == -1) {
    return build(Op::Divide, {constant(Type::Float, 1, span), base}, span);
  }
  // Of -inf the roots are NaNs, and these powers are not.
  if (value == 0.5 && !keeps_nans(base.type())) {
    return build(Op::Sqrt, {base}, span);
  }
  if (value == -0.5 && !keeps_nans(base.type())) {
    return build(Op::Rsqrt, {base}, span);
  }
  return {};
}

Expr Simplifier::function_rule(Op op, const std::vector<Expr>& operands, Span span) {
  const Expr& x = operands[0];
  const Op inner = x.op();
  // What undoes what, wherever both are finite: exp(log(x)) is a NaN of a negative x, log(exp(x))
  // infinite of a large one.
  constexpr std::pair<Op, Op> kInverses[] = {{Op::Exp, Op::Log},
                                             {Op::Log, Op::Exp},
                                             {Op::Exp2, Op::Log2},
                                             {Op::Log2, Op::Exp2},
                                             {Op::Square, Op::Sqrt}};
  for (const auto& [outer, undone] : kInverses) {
    if (op == outer && inner == undone && !keeps_nans(x.type())) return x.operand(0);
  }
  switch (op) {
    case Op::Abs:
      if (inner == Op::Negate) {
        return build(Op::Abs, {x.operand(0)}, span);
      }
      return inner == Op::Abs || inner == Op::Square ? x : Expr();
    case Op::Square:
      return inner == Op::Negate || inner == Op::Abs ? build(Op::Square, {x.operand(0)}, span)
                                                     : Expr();
    case Op::Sqrt:
      return inner == Op::Square ? build(Op::Abs, {x.operand(0)}, span) : Expr();
    case Op::Relu:
      // Of a Float that is NaN it is 0, so that a relu alone makes another one idle.
      return inner == Op::Relu ||
                     (x.type() == Type::Int && (inner == Op::Abs || inner == Op::Square))
                 ? x
                 : Expr();
    case Op::Floor:
      return inner == Op::Floor || inner == Op::ToFloat ? x : Expr();
    case Op::ToInt:
      return inner == Op::ToFloat ? x.operand(0) : Expr();
    case Op::Saturate:
      return is_sum(inner) ? Expr() : x;
    default:
      return {};
  }
}

}  // namespace attngen::expr
