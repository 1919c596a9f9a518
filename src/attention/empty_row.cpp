#include "attention/empty_row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "expr/bound.h"
#include "expr/evaluate.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::kInfinity;
using expr::Op;

namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

// As kernels round it, to which what is below the least normal number is 0.
double in_float(double value) {
  if (std::fabs(value) < std::numeric_limits<float>::min()) return 0;
  return std::fabs(value) > kLargest ? std::copysign(kInfinity, value)
                                     : static_cast<double>(static_cast<float>(value));
}

// Constants folded by the kernels' arithmetic, and max(-inf, x) = x. Nothing else: rules that hold
// for finite values only would hide the 0 / 0 that is looked for. Rows that read a row twice make
// shared trees, so each node is folded once.
class Folder {
 public:
  Expr fold(const Expr& e) {
    if (e.op() == Op::Variable) return e;
    if (e.op() == Op::Number) {
      return e.type() == expr::Type::Float ? expr::number(in_float(e.number())) : e;
    }
    const auto known = folded_.find(e.identity());
    if (known != folded_.end()) return known->second.second;
    Expr result = fold_node(e);
    folded_[e.identity()] = {e, result};
    return result;
  }

 private:
  Expr fold_node(const Expr& e) {
    Expr folded = expr::map_operands(e, [this](const Expr& operand) { return fold(operand); });
    if (e.op() == Op::Max) {
      for (const size_t i : {0u, 1u}) {
        if (folded.operand(i).is_number(-kInfinity)) return folded.operand(1 - i);
      }
    }
    const bool constant = e.type() == expr::Type::Float && e.op() != Op::Load &&
                          std::ranges::all_of(folded.operands(), [](const Expr& operand) {
                            return operand.is_number();
                          });
    if (!constant) return folded;
    return expr::number(in_float(expr::evaluate(folded, [](std::string_view) { return 0.0; })));
  }

  // By identity; the node is held so that no other can take its address.
  std::map<const void*, std::pair<Expr, Expr>> folded_;
};

// Of an expression of acc, reductions and rows, for a row without pairs; inputs may be anything
// within `input`.
expr::Interval without_pairs(const RowForm& form, const Expr& e, const expr::Interval& input) {
  std::map<std::string, Expr, std::less<>> values;
  values["acc"] = expr::number(0);
  for (const Reduction& reduction : form.reductions) {
    values[reduction.name] =
        expr::number(reduction.kind == Reduction::Kind::Max ? -kInfinity : 0.0);
  }
  Folder folder;
  for (const RowValue& row : form.rows) {
    const Expr& value = row.without_pairs ? row.without_pairs : row.value;
    values[row.name] = folder.fold(expr::substitute(value, values));
  }
  expr::Bounds bounds;
  // Indices and lengths.
  bounds.variable = [](std::string_view) { return expr::Interval{-0x1p31, 0x1p31}; };
  bounds.input = [input](std::string_view) { return input; };
  return expr::bound(folder.fold(expr::substitute(e, values)), bounds);
}

}  // namespace

std::optional<Scaling> output_scaling(const Expr& output) {
  if (output.op() == Op::Variable && output.name() == "acc") {
    return Scaling{expr::number(1), expr::number(1)};
  }
  if (output.op() != Op::Divide && output.op() != Op::Multiply) return std::nullopt;
  const Expr &a = output.operand(0), &b = output.operand(1);
  const bool of_b = output.op() == Op::Multiply && !expr::mentions(a, "acc");
  if (!of_b && expr::mentions(b, "acc")) return std::nullopt;
  auto scaling = output_scaling(of_b ? b : a);
  if (!scaling) return std::nullopt;
  const Expr& other = of_b ? a : b;
  Expr& factor = expr::mentions(other, "d") ? scaling->of_column : scaling->of_row;
  const bool is_all = output.op() == Op::Multiply && factor.is_number(1);
  factor = is_all ? other : expr::make(output.op(), {factor, other});
  return scaling;
}

bool is_finite_without_pairs(const RowForm& form, const Expr& factor) {
  const expr::Interval value = without_pairs(form, factor, {-kLargest, kLargest});
  return value.low >= -kLargest && value.high <= kLargest && !value.may_be_nan;
}

bool is_zero_without_pairs(const RowForm& form) {
  if (const auto scaling = output_scaling(form.output)) {
    return is_finite_without_pairs(form, scaling->of_row) &&
           is_finite_without_pairs(form, scaling->of_column);
  }
  const expr::Interval output = without_pairs(form, form.output, {-kLargest, kLargest});
  return output.low >= 0 && output.high <= 0 && !output.may_be_nan;
}

bool may_be_nan_without_pairs(const RowForm& form, const expr::Expr& save) {
  return without_pairs(form, save, {-kInfinity, kInfinity}).may_be_nan;
}

}  // namespace attngen::attention
