// What a kernel needs of the rows of tables that a tile's queries keep in shared memory
// (attention/row_tables.h): where they come from, and where in the copy each of them begins.
#pragma once

#include <string>

#include "attention/pair_form.h"
#include "emit/device_names.h"
#include "spec/spec.h"

namespace attngen::emit {

// "rel[b, h, q_idx, ...]"
std::string text_of_row(const attention::RowTable& table);

// table_rows, copy_tables and find_tables; "" where there are no tables.
std::string table_functions(const spec::Spec& spec, const attention::PairForm& pairs,
                            const DeviceNames& names);

}  // namespace attngen::emit
