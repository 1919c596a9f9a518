// The block update of a general row form: what runs between the two matrix products.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "emit/device_names.h"
#include "emit/fragment.h"
#include "spec/spec.h"

namespace attngen::emit {

// What the functions of a pair take, and how they are called: (product or score, row, lines,
// column, kv_idx, in), as far as the form has them.
std::vector<std::string> pair_parameters(const attention::PairForm& pairs);
std::string pair_arguments(const attention::PairForm& pairs, std::string_view first);

// weight_of, the elements of the reductions, and `absorb`, which takes one block of a row. For
// forms that are not exponential.
std::string absorb_functions(const spec::Spec& spec, const attention::RowForm& rows,
                             const attention::PairForm& pairs, const DeviceNames& names,
                             const Fragment& fragment);

}  // namespace attngen::emit
