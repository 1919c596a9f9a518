#include "spec/doubts.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "expr/bound.h"
#include "expr/ops.h"
#include "expr/simplify.h"
#include "spec/bounds.h"
#include "spec/written.h"

namespace attngen::spec {
namespace {

using expr::Expr;
using expr::Op;

// A call of clamp, of which the parser makes two operators at one place.
struct Clamp {
  const Expr *value, *low, *high;
};
std::optional<Clamp> clamp_of(const Expr& e) {
  if (e.op() != Op::Min) return std::nullopt;
  const Expr& first = e.operand(0);
  const Expr& inner = first.op() == Op::ToFloat ? first.operand(0) : first;
  const bool at_one_place =
      inner.span().begin == e.span().begin && inner.span().end == e.span().end;
  if (inner.op() != Op::Max || !at_one_place) return std::nullopt;
  return Clamp{&inner.operand(0), &inner.operand(1), &e.operand(1)};
}

bool is_exchanged(const Expr& e) {
  const auto clamp = clamp_of(e);
  if (!clamp) return false;
  const Expr low = expr::simplify(*clamp->low), high = expr::simplify(*clamp->high);
  return low.is_number() && high.is_number() && low.number() > high.number();
}

// A choice in a score that takes pairs away.
struct Masking {
  const Expr* choice;
  bool negated;  // those where its condition holds
  double score;  // that they get
};

// Of a number and its sign; of all else a NaN.
double value_of(const Expr& e) {
  if (e.op() == Op::ToFloat) return value_of(e.operand(0));
  if (e.op() == Op::Negate) return -value_of(e.operand(0));
  return e.is_number() ? e.number() : std::numeric_limits<double>::quiet_NaN();
}

// Of a choice that is multiplied by a number: one whose condition a mask may read.
std::optional<Masking> masking_of(const Expr& choice, double factor) {
  constexpr double kNoWeight = -1e4;  // what is written for -inf begins here
  const Expr& condition = choice.operand(0);
  if (expr::mentions(condition, "score") || expr::mentions(condition, "map")) return std::nullopt;
  const double yes = factor * value_of(choice.operand(1));
  const double no = factor * value_of(choice.operand(2));
  const bool masks_yes = yes <= kNoWeight, masks_no = no <= kNoWeight;
  if (masks_yes == masks_no) return std::nullopt;
  return Masking{&choice, masks_yes, masks_yes ? yes : no};
}

// The first one in a score, or in a term of it.
std::optional<Masking> find_masking(const Expr& e, double factor = 1) {
  const auto in_operand = [&](size_t i, double by) {
    return find_masking(e.operand(i), factor * by);
  };
  switch (e.op()) {
    case Op::Select:
      return masking_of(e, factor);
    case Op::ToFloat:
      return in_operand(0, 1);
    case Op::Negate:
      return in_operand(0, -1);
    case Op::Multiply: {
      auto found = in_operand(0, value_of(e.operand(1)));
      return found ? found : in_operand(1, value_of(e.operand(0)));
    }
    case Op::Add:
    case Op::Subtract: {
      auto found = in_operand(0, 1);
      return found ? found : in_operand(1, e.op() == Op::Add ? 1 : -1);
    }
    default:
      return std::nullopt;
  }
}

double folded(const Expr& e) { return value_of(expr::simplify(e)); }

// The first one in a score, or in a term of it that no number multiplies: 8 * tanh(score / 8) is a
// cap.
const Expr* find_division(const Expr& e, double divisor) {
  const auto is = [](double number, double wanted) {
    constexpr double kAsWritten = 1e-4;  // 11.314 for the root of 128
    return std::fabs(number - wanted) <= kAsWritten * wanted;
  };
  if (!expr::mentions(e, "score")) return nullptr;
  const Op op = e.op();
  if (op == Op::Divide && is(folded(e.operand(1)), divisor)) return &e;
  const bool is_product = op == Op::Multiply;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (is_product && is(folded(e.operand(i)), 1 / divisor)) return &e;
    if (is_product && !std::isnan(folded(e.operand(i)))) return nullptr;
  }
  const bool passes_on = is_product || op == Op::Add || op == Op::Subtract || op == Op::Negate ||
                         op == Op::Divide || op == Op::ToFloat || op == Op::Select;
  if (!passes_on) return nullptr;
  for (const Expr& operand : e.operands()) {
    if (const Expr* found = find_division(operand, divisor)) return found;
  }
  return nullptr;
}

// A sum of kv_idx and other i32 that was made a float.
bool is_float_of_key(const Expr& e) {
  if (e.op() != Op::ToFloat || !expr::mentions(e, "kv_idx")) return false;
  return expr::find_node(e, [&](const Expr& node) {
           const Op op = node.op();
           return node.identity() != e.identity() && op != Op::Add && op != Op::Subtract &&
                  op != Op::Variable && op != Op::Number;
         }) == nullptr;
}

bool is_shared_element(const Expr& e) {
  if (e.op() != Op::Load) return false;
  for (const char* name : {"kv_idx", "q_idx", "q_pos"}) {
    if (expr::mentions(e, name)) return false;
  }
  return true;
}

// The float of a comparison that would bound the keys, were it an i32.
const Expr* float_limit(const Expr& e) {
  const Op op = e.op();
  if (op != Op::Less && op != Op::LessEqual && op != Op::Greater && op != Op::GreaterEqual) {
    return nullptr;
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (is_float_of_key(e.operand(i)) && is_shared_element(e.operand(1 - i))) {
      return &e.operand(1 - i);
    }
  }
  return nullptr;
}

}  // namespace

std::optional<expr::Error> exchanged_clamp(const Expr& e, std::string_view text) {
  const Expr* found = expr::find_node(e, is_exchanged);
  if (found == nullptr) return std::nullopt;
  const Clamp clamp = *clamp_of(*found);
  const double low = expr::simplify(*clamp.low).number();
  const double high = expr::simplify(*clamp.high).number();
  return expr::Error{
      found->span(),
      fmt::format("clamp from {:g} to {:g} gives {:g} for every value", low, high, high),
      fmt::format("write clamp({}, {}, {})", written(*clamp.value, text),
                  written(*clamp.high, text), written(*clamp.low, text))};
}

std::optional<expr::Error> score_of_nothing(const Expr& score, std::string_view text) {
  if (expr::mentions(score, "score")) return std::nullopt;
  const bool varies = !expr::variables_of(score).empty() || !expr::inputs_of(score).empty();
  const Op op = score.op() == Op::ToFloat ? score.operand(0).op() : score.op();
  const bool is_looser = expr::precedence_of(op) < expr::Precedence::Sum;
  const std::string term = written(score, text);
  return expr::Error{score.span(),
                     "the score does not read 'score': queries and keys have no effect",
                     !varies     ? "leave the key out, and the score is the product of the two"
                     : is_looser ? fmt::format("write score + ({})", term)
                                 : fmt::format("write score + {}", term)};
}

std::optional<expr::Error> masking_in_score(const Expr& score, std::string_view text) {
  const auto masking = find_masking(score);
  if (!masking) return std::nullopt;
  const auto [choice, negated, value] = *masking;
  return expr::Error{
      choice->span(), fmt::format("pairs with a score of {:g} are computed like all others", value),
      fmt::format("write it in mask, which lets blocks of keys be skipped: {}{}{}",
                  negated ? "not (" : "", written(choice->operand(0), text), negated ? ")" : "")};
}

std::optional<expr::Error> scaled_twice(const Expr& score, int width, std::string_view text) {
  const Expr* found = find_division(score, std::sqrt(static_cast<double>(width)));
  if (found == nullptr) return std::nullopt;
  return expr::Error{
      found->span(),
      fmt::format("'{}' scales twice: score is scaled already by 1/sqrt(head_dim.qk)",
                  written(*found, text)),
      fmt::format("leave it out; if it is meant, write scale: {:.9g}", 1.0 / width)};
}

std::optional<expr::Error> keys_below_float(const Expr& mask, std::string_view text) {
  const Expr* found =
      expr::find_node(mask, [](const Expr& e) { return float_limit(e) != nullptr; });
  if (found == nullptr) return std::nullopt;
  const Expr& limit = *float_limit(*found);
  return expr::Error{
      limit.span(), fmt::format("'{}' is a float, which bounds no range of keys", limit.name()),
      fmt::format("make it i32, or write int({}); blocks of keys beyond it then take no time",
                  written(limit, text))};
}

std::optional<expr::Error> power_of_distance(const Expr& e, std::string_view text) {
  const Expr* found = expr::find_node(e, [](const Expr& node) {
    return node.op() == Op::Pow && !is_positive(node.operand(0)) && !node.operand(0).is_number() &&
           !expr::mentions(node.operand(0), "kv_idx") &&
           !expr::mentions(node.operand(0), "score") && expr::mentions(node.operand(1), "kv_idx") &&
           is_float_of_key(node.operand(1));
  });
  if (found == nullptr) return std::nullopt;
  const std::string base = written(found->operand(0), text);
  return expr::Error{found->span(), "'pow' takes each pair a logarithm too",
                     fmt::format("if {} is positive write exp(log({}) * ({})), which costs less",
                                 base, base, written(found->operand(1), text))};
}

std::optional<expr::Error> weight_without_maximum(const Expr& weight, const Expr& score,
                                                  double largest) {
  const Expr& power = weight.op() == Op::Divide ? weight.operand(0) : weight;
  if (power.op() != Op::Exp) return std::nullopt;
  const Expr& exponent = power.operand(0);
  if (exponent.op() != Op::Variable || exponent.name() != "score") return std::nullopt;
  const double limit = std::log(largest);
  if (expr::bound(score).high <= limit) return std::nullopt;
  return expr::Error{
      power.span(),
      fmt::format("exp(score) is infinite for scores above {:.0f}", std::floor(limit)),
      "take the row's maximum off, as softmax does: rows: {m: rowmax(score)}, and exp(score - m)"};
}

}  // namespace attngen::spec
