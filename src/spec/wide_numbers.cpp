#include "spec/wide_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "expr/bound.h"
#include "expr/ops.h"
#include "spec/bounds.h"
#include "spec/written.h"

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

// The first step that leaves 32 bits though its operands are within.
const Expr* find_wide(const std::vector<expr::BoundStep>& steps, const expr::Bounds& bounds) {
  std::vector<Interval> ranges(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& [e, of] = steps[i];
    ranges[i] = expr::bound_step(e, ranges[of[0]], ranges[of[1]], ranges[of[2]], bounds);
    if (e.type() == expr::Type::Int && !fits(ranges[i])) return &e;
  }
  return nullptr;
}

std::string operand_text(const Expr& e, std::string_view text) {
  const bool apart = expr::precedence_of(e.op()) <= expr::Precedence::Product;
  return apart ? "(" + written(e, text) + ")" : written(e, text);
}

std::string as_float(const Expr& e, std::string_view text) {
  if (e.op() == Op::Square) {
    return fmt::format("square(1.0 * {})", operand_text(e.operand(0), text));
  }
  if (e.op() == Op::Multiply) {
    return fmt::format("1.0 * {} * {}", operand_text(e.operand(0), text),
                       operand_text(e.operand(1), text));
  }
  return fmt::format("1.0 * {}", operand_text(e, text));
}

}  // namespace

std::optional<expr::Error> number_beyond_32_bits(const Expr& e, const Spec& spec,
                                                 std::string_view text) {
  const std::vector<expr::BoundStep> steps = expr::steps_of(e);
  const auto wide_at = [&](double tokens) {
    return find_wide(steps, bounds_of_calls(spec, tokens));
  };
  if (wide_at(kLongest) == nullptr) return std::nullopt;
  double none = 0, some = kLongest;
  while (some - none > 1) {
    const double middle = std::floor((none + some) / 2);
    (wide_at(middle) != nullptr ? some : none) = middle;
  }
  const Expr& wide = *wide_at(some);
  return expr::Error{wide.span(),
                     fmt::format("'{}' leaves 32 bits in calls of {:.0f} tokens or more",
                                 written(wide, text), some),
                     fmt::format("a float has the room: {}", as_float(wide, text))};
}

}  // namespace attngen::spec
