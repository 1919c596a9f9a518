// Indices of inputs: an index outside of its dimension is its nearest end.
#pragma once

#include <functional>
#include <string_view>

#include "expr/bound.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// What is known of a variable that is none of a spec; everything: {}.
using RangeOf = std::function<expr::Interval(std::string_view variable)>;

// Queries and keys are not negative, sums may pass 32 bits. `elements`: of inputs, where they are
// known.
expr::Interval range_of_index(const expr::Expr& index, const RangeOf& own,
                              const RangeOf& elements = {});
// Held to [0, length) where it is not proven to be there.
expr::Expr in_range(const expr::Expr& index, int length, const RangeOf& own);

// An index of a load, in range if the dimension's length is a number.
expr::Expr index_in_range(const spec::Spec& spec, const expr::Expr& load, size_t dim);

}  // namespace attngen::attention
