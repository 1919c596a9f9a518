#include "attention/index_range.h"

#include <algorithm>
#include <array>
#include <vector>

namespace attngen::attention {

using expr::Expr;
using expr::Interval;
using expr::Op;

namespace {

// Indices of longer sequences fill no GPU's memory: sums of a few of them do not wrap.
constexpr double kLongestSequence = 0x1p29;

Interval range_of_variable(std::string_view name, const RangeOf& own) {
  constexpr std::array<std::string_view, 6> kFromZero{"kv_idx", "q_idx", "b", "h", "h_kv", "map"};
  constexpr std::array<std::string_view, 3> kOfCall{"q_pos", "seq_q", "seq_kv"};
  if (std::ranges::count(kFromZero, name) > 0) return {0, kLongestSequence};
  if (std::ranges::count(kOfCall, name) > 0) return {-kLongestSequence, kLongestSequence};
  return own ? own(name) : Interval{};
}

// A result beyond 32 bits wraps: it is anywhere.
Interval in_32_bits(const Expr& e, const Interval& range) {
  constexpr Interval kInt32{-0x1p31, 0x1p31 - 1};
  if (e.type() != expr::Type::Int) return range;
  if (range.low >= kInt32.low && range.high <= kInt32.high) return range;
  const bool is_given = e.op() == Op::Variable || e.op() == Op::Load;
  if (!is_given) return kInt32;
  return {std::max(range.low, kInt32.low), std::min(range.high, kInt32.high)};
}

}  // namespace

Interval range_of_index(const Expr& index, const RangeOf& own, const RangeOf& elements) {
  const expr::Bounds bounds{
      [&](std::string_view name) { return range_of_variable(name, own); },
      [&](std::string_view name) { return elements ? elements(name) : Interval{}; },
  };
  const std::vector<expr::BoundStep> steps = expr::steps_of(index);
  std::vector<Interval> ranges(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& [e, of] = steps[i];
    ranges[i] =
        in_32_bits(e, expr::bound_step(e, ranges[of[0]], ranges[of[1]], ranges[of[2]], bounds));
  }
  return ranges.back();
}

Expr in_range(const Expr& index, int length, const RangeOf& own) {
  const Interval range = range_of_index(index, own);
  Expr result = index;
  if (range.high > length - 1) result = expr::make(Op::Min, {result, expr::integer(length - 1)});
  if (range.low < 0) result = expr::make(Op::Max, {result, expr::integer(0)});
  return result;
}

Expr index_in_range(const spec::Spec& spec, const Expr& load, size_t dim) {
  const Expr& index = load.operand(dim);
  const spec::Input* input = spec.find_input(load.name());
  if (input == nullptr || input->shape[dim].kind != spec::Input::Dim::Kind::Number) return index;
  return in_range(index, input->shape[dim].number, {});
}

}  // namespace attngen::attention
