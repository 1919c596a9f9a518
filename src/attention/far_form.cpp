#include "attention/far_form.h"

#include <algorithm>

#include "attention/interval_mask.h"
#include "attention/pair_form.h"
#include "attention/pair_input.h"
#include "attention/tiles.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

bool has_far_keys(const spec::Spec& spec) {
  const KeyRange range = key_range(spec.mask, spec.inputs);
  return !spec.varlen && !spec.page && spec.block_size == 0 && spec.token_count == 0 &&
         spec.maps == 1 && !pair_input(spec) && has_row_limits(range) && range.begin.is_number(0) &&
         range.full_begin.is_number(0);
}

}  // namespace

int sums_of_products(const std::vector<FarSum>& sums) {
  return static_cast<int>(
      std::ranges::count_if(sums, [](FarSum sum) { return sum != FarSum::Number; }));
}

std::optional<std::vector<FarSum>> far_sums(const spec::Spec& spec, const RowForm& rows) {
  if (spec.dtype != spec::DType::Bf16 || !rows.row_free() || !has_far_keys(spec))
    return std::nullopt;
  std::vector<FarSum> sums;
  for (const Reduction& reduction : rows.reductions) {
    if (reduction.kind != Reduction::Kind::Sum || !reduction.deferred) return std::nullopt;
    const Expr& element = reduction.element;
    const bool is_abs = element.op() == Op::Abs;
    if (element.is_number()) {
      sums.push_back(FarSum::Number);
    } else if (expr::same(is_abs ? element.operand(0) : element, rows.weight)) {
      sums.push_back(is_abs ? FarSum::Absolute : FarSum::Score);
    } else {
      return std::nullopt;
    }
  }
  // A number of keys alone would have a loop over far keys that adds up nothing.
  if (!sums.empty() && sums_of_products(sums) == 0) return std::nullopt;
  return sums;
}

Expr far_exponent(const Expr& score, const std::function<bool(const Expr&)>& varies) {
  std::vector<Expr> factors{score};
  Expr exponent;
  int products = 0;
  while (!factors.empty()) {
    const Expr factor = factors.back();
    factors.pop_back();
    if (!varies(factor)) continue;
    if (factor.op() == Op::Multiply) {
      factors.push_back(factor.operand(0));
      factors.push_back(factor.operand(1));
    } else if (factor.op() == Op::Divide && !varies(factor.operand(1))) {
      factors.push_back(factor.operand(0));
    } else if (factor.op() == Op::Exp2 && !exponent) {
      exponent = factor.operand(0);
    } else if (factor.op() == Op::Variable && factor.name() == kProduct && products == 0) {
      ++products;
    } else {
      return {};
    }
  }
  if (products != 1) return {};
  return exponent ? exponent : expr::number(0);
}

}  // namespace attngen::attention
