// How two parts of a row's keys become one: what kernels with split keys call (join.cuh).
#pragma once

#include <string>

#include "attention/row_form.h"

namespace attngen::emit {

// `join`, for forms that are not exponential: the reductions of both parts to those of the row, and
// by which either accumulator shrinks, if any does. It calls functions of absorb.h.
std::string join_function(const attention::RowForm& rows);

}  // namespace attngen::emit
