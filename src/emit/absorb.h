// The block update of a general row form: what runs between the two matrix products.
#pragma once

#include <string>

#include "attention/row_form.h"
#include "emit/device_names.h"
#include "spec/spec.h"

namespace attngen::emit {

// weight_of, the elements of the reductions, and `absorb`, which takes one block of a row. For
// forms that are not exponential.
std::string absorb_functions(const spec::Spec& spec, const attention::RowForm& rows,
                             const DeviceNames& names);

// `target = value;` with the statements that it needs, indented by two.
std::string assignment(const std::string& target, const expr::Expr& value,
                       const expr::Names& names);
// `return value;` likewise.
std::string returned(const expr::Expr& value, const expr::Names& names);

}  // namespace attngen::emit
