#include "attention/arranger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attention/linear.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;
using expr::Type;

namespace {

// Registers for more would cost more than they save. With 6 of FIRE's 12 its kernel took 1.5 times
// as long (H200, 2026-11-28, a throw-away script).
constexpr size_t kMostKept = 12;

Expr negated(const Expr& e) { return e ? expr::make(Op::Negate, {e}) : e; }
Expr sum(Op op, const Expr& x, const Expr& y) {
  if (!y) return x;
  if (!x) return op == Op::Subtract ? negated(y) : y;
  return expr::make(op, {x, y});
}

// Numbers may come together beyond what a float holds, though each of them is one.
bool fits_float(const Expr& slope) {
  if (!slope) return true;
  const Expr simple = expr::simplify(slope);
  return !simple.is_number() || simple.is_number(0) || expr::is_normal_float(simple.number());
}

// What is left of an affine `e` where the product is 0; kv_idx becomes the thread's first key.
Expr rest(const Expr& e) {
  return expr::simplify(expr::substitute(e, {{kProduct, expr::number(0)}}));
}

// Whether a register is better spent on it than the instructions: not on sums of whole numbers.
bool is_costly(const Expr& e) {
  if (e.op() == Op::Load) return !e.operands().empty();
  const bool cheap =
      e.type() != Type::Float && (e.operands().empty() || e.op() == Op::Add ||
                                  e.op() == Op::Subtract || e.op() == Op::Min || e.op() == Op::Max);
  if (!cheap && !e.operands().empty() && e.type() != Type::Bool) return true;
  return std::any_of(e.operands().begin(), e.operands().end(), is_costly);
}

// Functions that take long, of what is computed alike outside of a step: a quotient is exact in one
// alone.
bool rounds_alike_apart(const Expr& e) {
  constexpr std::array kFunctions{Op::Exp,     Op::Exp2, Op::Log, Op::Log2, Op::Tanh,
                                  Op::Sigmoid, Op::Erf,  Op::Sin, Op::Cos};
  return std::ranges::count(kFunctions, e.op()) > 0 &&
         !expr::find_node(e, [](const Expr& node) { return node.op() == Op::Divide; });
}

}  // namespace

bool Arranger::varies(const Expr& e) const {
  if (const auto* known = varies_.find(e)) return *known;
  return varies_.keep(e, decide_varies(e));
}

bool Arranger::decide_varies(const Expr& e) const {
  if (e.op() == Op::Variable) {
    if (std::ranges::count(pair_variables(), e.name()) > 0) return true;
    return std::any_of(rows_.rows.begin(), rows_.rows.end(), [&](const RowValue& row) {
      return e.name() == row.name || e.name() == old_name(row.name);
    });
  }
  return std::any_of(e.operands().begin(), e.operands().end(),
                     [&](const Expr& operand) { return varies(operand); });
}

std::optional<Slopes> Arranger::slopes(const Expr& e) const {
  if (!varies(e)) return Slopes{};
  if (const auto* known = slopes_.find(e)) return *known;
  return slopes_.keep(e, find_slopes(e));
}

std::optional<Slopes> Arranger::find_slopes(const Expr& e) const {
  switch (e.op()) {
    case Op::Variable:
      if (e.name() != kProduct) return std::nullopt;
      return Slopes{expr::number(1), {}};
    case Op::ToFloat:
      return slopes_of_int(e.operand(0));
    case Op::Negate: {
      const auto x = slopes(e.operand(0));
      if (!x) return std::nullopt;
      return Slopes{negated(x->product), negated(x->key)};
    }
    case Op::Add:
    case Op::Subtract: {
      const auto x = slopes(e.operand(0)), y = slopes(e.operand(1));
      if (!x || !y) return std::nullopt;
      return Slopes{sum(e.op(), x->product, y->product), sum(e.op(), x->key, y->key)};
    }
    case Op::Multiply:
      if (!varies(e.operand(1))) return scaled(e.operand(0), Op::Multiply, e.operand(1));
      if (!varies(e.operand(0))) return scaled(e.operand(1), Op::Multiply, e.operand(0));
      return std::nullopt;
    case Op::Divide:
      if (varies(e.operand(1))) return std::nullopt;
      return scaled(e.operand(0), Op::Divide, e.operand(1));
    default:
      return std::nullopt;
  }
}

std::optional<Slopes> Arranger::scaled(const Expr& e, Op op, const Expr& by) const {
  const auto x = slopes(e);
  if (!x) return std::nullopt;
  const auto scale = [&](const Expr& slope) { return slope ? expr::make(op, {slope, by}) : slope; };
  Slopes result{scale(x->product), scale(x->key)};
  if (!fits_float(result.product) || !fits_float(result.key)) return std::nullopt;
  return result;
}

// Whole numbers: evenly growing if kv_idx stands by itself, times a number.
std::optional<Slopes> Arranger::slopes_of_int(const Expr& e) const {
  const auto sum = linear(e);
  if (!sum) return std::nullopt;
  Slopes result;
  for (const Linear::Term& term : sum->terms) {
    if (!varies(term.atom)) continue;
    if (term.atom.op() != Op::Variable || term.atom.name() != "kv_idx") return std::nullopt;
    if (!in_line_) return std::nullopt;
    result.key = expr::number(static_cast<double>(term.coefficient));
  }
  return result;
}

bool Arranger::grows_evenly(const Expr& e) const {
  if (slopes(e)) return true;
  if (e.op() == Op::Exp2) return slopes(e.operand(0)).has_value();
  if (e.op() != Op::Multiply) return false;
  return (!varies(e.operand(0)) && grows_evenly(e.operand(1))) ||
         (!varies(e.operand(1)) && grows_evenly(e.operand(0)));
}

Expr Arranger::slope_of_power(const Expr& weight) const {
  const Expr exponent = far_exponent(weight, [this](const Expr& e) { return varies(e); });
  if (exponent && exponent.is_number()) return expr::number(0);  // linear attention, no decay
  const auto found = exponent ? slopes(exponent) : std::nullopt;
  if (!found || !found->key || found->product) return {};
  for (const char* query : {"q_idx", "q_pos"}) {
    if (expr::mentions(found->key, query)) return {};
  }
  return expr::simplify(found->key);
}

Expr Arranger::arrange(const Expr& e) {
  if (!varies(e)) return constant(e);
  if (const Expr* known = arranged_.find(e)) return *known;
  if (makes_step(e)) {
    return arranged_.keep(e,
                          expr::map_operands(e, [this](const Expr& x) { return within_step(x); }));
  }
  if (e.type() == Type::Float && e.op() != Op::Variable) {
    const auto found = slopes(e);
    const bool has_room = !found || !found->key || form_.lines.size() < kMostKept;
    if (found && has_room) return arranged_.keep(e, affine(e, *found, false));
  }
  return arranged_.keep(
      e, expr::map_operands(e, [this](const Expr& operand) { return arrange(operand); }));
}

Expr Arranger::within_step(const Expr& e) {
  if (!varies(e) && rounds_alike_apart(e)) return constant(e);
  if (e.type() != Type::Float || e.op() == Op::Load || makes_step(e)) return arrange(e);
  return expr::map_operands(e, [this](const Expr& operand) { return within_step(operand); });
}

Expr Arranger::affine(const Expr& e, const Slopes& found, bool own_base) {
  Expr sum = rest(e);
  // Keys that cancel, as whole numbers may, leave the same at any.
  if (!found.key) sum = expr::simplify(expr::substitute(sum, {{"kv_idx", expr::integer(0)}}));
  const auto slope = [&](const Expr& of) {
    const Expr simple = expr::simplify(of);
    return own_base && !expr::inputs_of(simple).empty() ? kept(simple) : constant(simple);
  };
  if (found.key) {
    const Expr first = with_constants(sum);
    const Expr base = own_base ? variable_of(kBase) : variable_of(line(first).c_str());
    sum = expr::make(Op::Add,
                     {expr::make(Op::Multiply, {variable_of(kColumn), slope(found.key)}), base});
    if (own_base) form_.base = first;
  } else if (own_base) {
    form_.base = constant(sum);
    sum = variable_of(kBase);
  } else {
    sum = constant(sum);
  }
  if (!found.product) return sum;
  const Expr factor = slope(found.product);
  const Expr term = factor.is_number(1) ? variable_of(kProduct)
                                        : expr::make(Op::Multiply, {variable_of(kProduct), factor});
  return sum.is_number(0) ? term : expr::make(Op::Add, {term, sum});
}

Expr Arranger::with_constants(const Expr& e) {
  if (!varies(e)) return constant(e);
  return expr::map_operands(e, [this](const Expr& operand) { return with_constants(operand); });
}

// A constant along the row: computed before the loop, unless it is at hand.
Expr Arranger::constant(const Expr& e) {
  if (!is_costly(e)) return e;
  if (e.type() == Type::Bool) {  // what it compares is kept: no register is one bit
    return expr::map_operands(e, [&](const Expr& operand) {
      return makes_step(e) ? within_step(operand) : constant(operand);
    });
  }
  if (Expr simple = expr::simplify(e); simple.is_number()) return simple;
  const bool is_kept = std::ranges::any_of(
      form_.constants, [&](const spec::NamedExpr& known) { return expr::same(known.value, e); });
  return is_kept || form_.constants.size() < kMostKept ? kept(e) : e;
}

Expr Arranger::kept(const Expr& e) {
  for (const spec::NamedExpr& known : form_.constants) {
    if (expr::same(known.value, e)) return expr::variable(known.name, e.type());
  }
  form_.constants.push_back({fmt::format("{}c{}", kOwnName, form_.constants.size()), e});
  return expr::variable(form_.constants.back().name, e.type());
}

std::string Arranger::line(const Expr& first) {
  for (const Line& known : form_.lines) {
    if (expr::same(known.first, first)) return known.name;
  }
  form_.lines.push_back({fmt::format("{}l{}", kOwnName, form_.lines.size()), first});
  return form_.lines.back().name;
}

}  // namespace attngen::attention
