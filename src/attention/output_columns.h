// What an element of O reads that stands in its own column.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace attngen::attention {

// What differs between the elements of a row of O.
std::span<const std::string> element_variables();

// Whether `output` reads `d`.
bool has_columns(const expr::Expr& output);

// The different loads of `output` that a thread can take 16 bytes at a time: elements of two bytes,
// the last index being `d`, the others known when a tile begins, in rows that are as long as O's
// and begin at 16 bytes: gate[b, q_idx, h, d]. Tensors along the keys are not among them: where a
// sequence has no key they have no row.
std::vector<expr::Expr> column_loads(const spec::Spec& spec, const expr::Expr& output);

// Whether `output` reads the input so, which then begins at 16 bytes.
bool is_read_by_columns(const spec::Spec& spec, const spec::Input& input);

}  // namespace attngen::attention
