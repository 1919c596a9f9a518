// Masks that leave nothing.
#pragma once

#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::spec {

// Whether the mask is proven to hold for no pair of any call: by intervals, or by two of its
// conditions that exclude each other (kv_idx < q_pos and kv_idx > q_pos).
bool holds_for_no_pair(const expr::Expr& mask, const Spec& spec);

}  // namespace attngen::spec
