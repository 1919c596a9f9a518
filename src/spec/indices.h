// Indices that cannot be meant, and what indices tell of an input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expr/parse.h"
#include "spec/spec.h"

namespace attngen::spec {

// The first index in `e` that
// - is a variable by itself on a dimension of something else: `h` on heads_kv;
// - is outside of its dimension for every pair and every call, proven by intervals. One that is
//   outside for some pairs alone is clamped, and no error.
std::optional<expr::Error> wrong_index(const expr::Expr& e, const Spec& spec);

// The first index in `e` that is a variable by itself and runs to seq_kv on a dimension of seq_q,
// unless both lengths are fixed and the same, or past a dimension that is a number: `h` of 8 heads
// on 4. What is beyond the end is clamped, which is hardly meant: a warning.
std::optional<expr::Error> clamped_index(const expr::Expr& e, const Spec& spec);

// The shape of an input of these indices, "[heads, seq_kv]" of "[h, kv_idx] + 1"; "[...]" if they
// are not all variables by themselves, "" if the text does not begin with any.
std::string shape_of(std::string_view indices);

}  // namespace attngen::spec
