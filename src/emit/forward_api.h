// The forward pass's argument struct and functions, each with what a caller needs to know of it.
#pragma once

#include "emit/api.h"
#include "spec/spec.h"

namespace attngen::emit {

PassApi forward_api(const spec::Spec& spec);

}  // namespace attngen::emit
