// Indices that cannot be meant.
#pragma once

#include <optional>

#include "expr/parse.h"
#include "spec/spec.h"

namespace attngen::spec {

// The first index in `e` that
// - is a variable by itself on a dimension of something else: `h` on heads_kv;
// - is outside of its dimension for every pair and every call, proven by intervals. One that is
//   outside for some pairs alone is clamped, and no error.
std::optional<expr::Error> wrong_index(const expr::Expr& e, const Spec& spec);

}  // namespace attngen::spec
