// Indices that no call can bring into an input's shape.
#pragma once

#include <optional>

#include "expr/parse.h"
#include "spec/spec.h"

namespace attngen::spec {

// The first index in `e` that is outside of its dimension for every pair and every call, proven by
// intervals. One that is outside for some pairs alone is clamped, and no error.
std::optional<expr::Error> index_out_of_shape(const expr::Expr& e, const Spec& spec);

}  // namespace attngen::spec
