// What a row form gives for a row without pairs.
#pragma once

#include <optional>

#include "attention/row_form.h"

namespace attngen::attention {

// What acc is multiplied by: acc / x and acc * x are scalings by a value of the row, computed once;
// so is acc / x * y, by 1 / x * y. Another factor is of the element, if y reads its column.
struct Scaling {
  expr::Expr of_row, of_column;  // 1 where there is none
};
// Nothing if `output` is no scaling.
std::optional<Scaling> output_scaling(const expr::Expr& output);

// Whether a factor is proven to be a number then, and no infinity, for all finite inputs.
bool is_finite_without_pairs(const RowForm& form, const expr::Expr& factor);

// Whether `output`, as kernels compute it, is proven to be 0 when acc is 0 and every reduction is
// at its identity (0 for sums, -inf for maxima), for all finite inputs.
bool is_zero_without_pairs(const RowForm& form);

// Whether a saved value may be NaN then, by inputs that are no NaN themselves (a sink may be -inf).
bool may_be_nan_without_pairs(const RowForm& form, const expr::Expr& save);

}  // namespace attngen::attention
