#include "spec/wide_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/bound.h"
#include "expr/ops.h"
#include "spec/bounds.h"
#include "spec/written.h"
#include "text/characters.h"

namespace attngen::spec {
namespace {

using expr::Expr;
using expr::Interval;
using expr::Op;

constexpr double kLongest = 131072;

// In calls of up to so many tokens. Sequences of a batch are few, and elements of i32 are places or
// ids of tokens; queries are the last of the keys' tokens.
expr::Bounds bounds_of_calls(const Spec& spec, double tokens) {
  constexpr double kBatch = 1024;
  const auto up_to = [](const Interval& range, double high) {
    return Interval{std::max(range.low, 0.0), std::min(range.high, high), range.may_be_nan};
  };
  return {
      [up_to, tokens, of_spec = bounds_of(spec).variable](std::string_view name) {
        const Interval range = of_spec(name);
        if (name == "b") return up_to(range, kBatch - 1);
        if (name == "seq_q" || name == "seq_kv") return up_to(range, tokens);
        const bool token = name == "t" || name == "q_idx" || name == "q_pos" || name == "kv_idx";
        return token ? up_to(range, tokens - 1) : range;
      },
      [&spec, tokens, of_spec = bounds_of(spec).input](std::string_view name) {
        const Input* input = spec.find_input(name);
        const bool places = input != nullptr && input->element == Input::Element::I32;
        return places ? Interval{0, tokens - 1} : of_spec(name);
      },
  };
}

bool fits(const Interval& range) { return range.low >= -0x1p31 && range.high <= 0x1p31 - 1; }

// A step that leaves 32 bits, and which of its operands are as wide as an i32 by themselves.
struct Wide {
  Expr e;
  std::vector<size_t> unbounded;
};

bool is_unbounded(const Interval& range) {
  return range.low <= -0x1p31 || range.high >= 0x1p31 - 1;
}

// The first step that leaves 32 bits though its operands are within.
std::optional<Wide> find_wide(const std::vector<expr::BoundStep>& steps,
                              const expr::Bounds& bounds) {
  std::vector<Interval> ranges(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& [e, of] = steps[i];
    ranges[i] = expr::bound_step(e, ranges[of[0]], ranges[of[1]], ranges[of[2]], bounds);
    if (e.type() != expr::Type::Int || fits(ranges[i])) continue;
    Wide wide{e, {}};
    for (size_t k = 0; k < e.operands().size(); ++k) {
      if (is_unbounded(ranges[of[k]])) wide.unbounded.push_back(k);
    }
    return wide;
  }
  return std::nullopt;
}

// An operand, in parentheses unless it binds tighter.
std::string operand_text(const Expr& e, std::string_view text, expr::Precedence than) {
  const bool apart = expr::precedence_of(e.op()) <= than;
  return apart ? "(" + written(e, text) + ")" : written(e, text);
}

// The text of `e` with texts in the place of some operands.
std::string with_operands(const Expr& e, std::string_view text,
                          const std::vector<std::pair<size_t, std::string>>& texts) {
  std::string out;
  size_t at = e.span().begin;
  for (const auto& [operand, instead] : texts) {
    const auto [begin, end] = e.operand(operand).span();
    if (begin < at) continue;  // of a name that stands for both
    out += std::string(text.substr(at, begin - at)) + instead;
    at = end;
  }
  return text::one_line(out + std::string(text.substr(at, e.span().end - at)));
}

// A sum or a product of an f32 is an f32, and so is a function of one.
std::string as_float(const Expr& e, std::string_view text) {
  const std::string first = "1.0 * " + operand_text(e.operand(0), text, expr::Precedence::Product);
  const expr::Precedence precedence = expr::precedence_of(e.op());
  if (precedence == expr::Precedence::Sum || precedence == expr::Precedence::Product) {
    return fmt::format("{} {} {}", first, expr::spelling(e.op()),
                       operand_text(e.operand(1), text, precedence));
  }
  return e.op() == Op::Negate ? "-" + first : fmt::format("{}({})", expr::spelling(e.op()), first);
}

// Keys are bounded by whole numbers alone. What no call bounds can be held to its keys first: the
// text, where that is enough.
std::string held_to_keys(const Wide& wide, std::string_view text, const expr::Bounds& bounds) {
  const Interval keys{0, bounds.variable("seq_kv").high, false};
  for (const bool both : {false, true}) {
    std::vector<Interval> ranges;
    std::vector<std::pair<size_t, std::string>> texts;
    for (size_t i = 0; i < wide.e.operands().size(); ++i) {
      const Expr& operand = wide.e.operand(i);
      ranges.push_back(expr::bound(operand, bounds));
      if (std::ranges::find(wide.unbounded, i) == wide.unbounded.end()) continue;
      ranges[i] = both ? keys : Interval{ranges[i].low, keys.high, false};
      const std::string number = written(operand, text);
      texts.emplace_back(i, both ? fmt::format("clamp({}, 0, seq_kv)", number)
                                 : fmt::format("min({}, seq_kv)", number));
    }
    ranges.resize(3);
    if (texts.empty()) return "";
    if (fits(expr::bound_step(wide.e, ranges[0], ranges[1], ranges[2], bounds))) {
      return with_operands(wide.e, text, texts);
    }
  }
  return "";
}

}  // namespace

std::optional<expr::Error> number_beyond_32_bits(const Expr& e, const Spec& spec,
                                                 std::string_view text) {
  const std::vector<expr::BoundStep> steps = expr::steps_of(e);
  const auto wide_at = [&](double tokens) {
    return find_wide(steps, bounds_of_calls(spec, tokens));
  };
  if (!wide_at(kLongest)) return std::nullopt;
  double none = 0, some = kLongest;
  while (some - none > 1) {
    const double middle = std::floor((none + some) / 2);
    (wide_at(middle) ? some : none) = middle;
  }
  const Wide wide = *wide_at(some);
  const std::string what = written(wide.e, text);
  const bool is_condition = e.type() == expr::Type::Bool;
  const std::string held =
      is_condition ? held_to_keys(wide, text, bounds_of_calls(spec, kLongest)) : "";
  return expr::Error{
      wide.e.span(),
      some <= 1 ? fmt::format("'{}' may leave 32 bits", what)  // whatever the lengths
                : fmt::format("'{}' leaves 32 bits in calls of {:.0f} tokens or more", what, some),
      held.empty() ? fmt::format("a float has the room: {}", as_float(wide.e, text))
                   : fmt::format("bound it first: {}", held)};
}

}  // namespace attngen::spec
