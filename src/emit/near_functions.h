// Functions of sigmoids that are nearly a power (attention/near_form.h).
#pragma once

#include <string>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "emit/device_names.h"
#include "emit/fragment.h"
#include "spec/spec.h"

namespace attngen::emit {

// near_power_of and absorb_near; "" without a near form.
std::string near_functions(const spec::Spec& spec, const attention::RowForm& rows,
                           const attention::PairForm& pairs, const DeviceNames& names,
                           const Fragment& fragment);

}  // namespace attngen::emit
