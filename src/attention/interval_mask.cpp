#include "attention/interval_mask.h"

#include <algorithm>

#include "expr/simplify.h"

namespace attngen::attention {

bool is_interval_mask(const KeyRange& range) {
  if (range.always_full) return true;
  const expr::Expr row = expr::variable("q_idx", expr::Type::Int);
  const auto of_one_row = [&](const expr::Expr& e) {
    return expr::simplify(expr::substitute(e, {{"q_first", row}, {"q_last", row}}));
  };
  return expr::same(of_one_row(range.begin), of_one_row(range.full_begin)) &&
         expr::same(of_one_row(range.end), of_one_row(range.full_end));
}

bool has_row_limits(const KeyRange& range) { return is_interval_mask(range) && !searches(range); }

namespace {

bool reads_search(const expr::Expr& e) {
  return expr::find_node(e, [](const expr::Expr& node) {
           return node.op() == expr::Op::Load &&
                  (node.name().ends_with(kBelow) || node.name().ends_with(kUpTo));
         }) != nullptr;
}

// Whether searches stand in minima and maxima alone.
bool is_bounded(const expr::Expr& e) {
  if (e.op() == expr::Op::Min || e.op() == expr::Op::Max) {
    return std::ranges::all_of(e.operands(), is_bounded);
  }
  const bool is_search = e.op() == expr::Op::Load && reads_search(e) &&
                         std::ranges::none_of(e.operands(), reads_search);
  return is_search || !reads_search(e);
}

}  // namespace

bool has_searched_limits(const KeyRange& range) {
  // The least begin of some rows is that of the first, the greatest end that of the last.
  const bool rise = !expr::mentions(range.begin, "q_last") && !expr::mentions(range.end, "q_first");
  return is_interval_mask(range) && searches(range) && is_bounded(range.begin) &&
         is_bounded(range.end) && rise;
}

bool has_searched_limits(const spec::Spec& spec, const RowForm& rows) {
  return rows.exponential && spec.block_size == 0 &&
         has_searched_limits(key_range(spec.mask, spec.inputs));
}

}  // namespace attngen::attention
