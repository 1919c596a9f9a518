// What a spec says about the values of names, before any call.
#pragma once

#include "expr/bound.h"
#include "spec/spec.h"

namespace attngen::spec {

// Of indices, lengths and inputs. The spec must outlive them.
expr::Bounds bounds_of(const Spec& spec);

}  // namespace attngen::spec
