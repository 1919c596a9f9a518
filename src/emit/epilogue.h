// What follows a row's last block of keys: its row values, output and saved results.
#pragma once

#include <string>

#include "attention/row_form.h"
#include "emit/device_names.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::emit {

// RowValues and row_values, output_of, Saves and store_saves. `row_term`: PairForm's.
std::string epilogue_functions(const spec::Spec& spec, const attention::RowForm& form,
                               const expr::Expr& row_term, const DeviceNames& names);

}  // namespace attngen::emit
