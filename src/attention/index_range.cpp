#include "attention/index_range.h"

#include <algorithm>
#include <array>

namespace attngen::attention {

using expr::Expr;
using expr::Interval;
using expr::Op;

expr::Interval range_of_index(const Expr& index, const RangeOf& own) {
  constexpr std::array<std::string_view, 6> kFromZero{"kv_idx", "q_idx", "b", "h", "h_kv", "map"};
  const auto variable = [&](std::string_view name) {
    const bool from_zero = std::ranges::count(kFromZero, name) > 0;
    return from_zero ? Interval{0, expr::kInfinity} : own ? own(name) : Interval{};
  };
  return expr::bound(index, {variable, [](std::string_view) { return Interval{}; }});
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
