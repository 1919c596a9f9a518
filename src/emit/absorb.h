// The block update of a general row form: what runs between the two matrix products.
#pragma once

#include <string>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "emit/device_names.h"
#include "emit/fragment.h"
#include "spec/spec.h"

namespace attngen::emit {

// weight_of, the elements of the reductions, and `absorb`, which takes one block of a row. For
// forms that are not exponential. Behind them what near_functions.h and far_functions.h have.
std::string absorb_functions(const spec::Spec& spec, const attention::RowForm& rows,
                             const attention::PairForm& pairs, const DeviceNames& names,
                             const Fragment& fragment);

}  // namespace attngen::emit
