// Functions of keys far behind a tile, whose values a state holds (attention/far_form.h).
#pragma once

#include <string>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "emit/device_names.h"
#include "emit/fragment.h"
#include "spec/spec.h"

namespace attngen::emit {

// decay, weight_of_one and, of rows that are summed, add_far and absorb_far; "" without far keys.
std::string far_functions(const spec::Spec& spec, const attention::RowForm& rows,
                          const attention::PairForm& pairs, const DeviceNames& names,
                          const Fragment& fragment);

}  // namespace attngen::emit
