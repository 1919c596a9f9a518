// What a spec says about the values of names, before any call.
#pragma once

#include "expr/bound.h"
#include "spec/spec.h"

namespace attngen::spec {

// Of indices, lengths and inputs. The spec must outlive them.
expr::Bounds bounds_of(const Spec& spec);

// Whether an expression is more than 0, and finite, in every spec: h is at least 0.
bool is_positive(const expr::Expr& e);

}  // namespace attngen::spec
