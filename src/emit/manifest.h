// <name>.json: the C interface for programs that call through an FFI, and what was chosen and why.
#pragma once

#include <string>
#include <vector>

#include "emit/api.h"
#include "emit/prediction.h"

namespace attngen::emit {

std::string manifest(const spec::Spec& spec, const Api& api,
                     const std::vector<PredictedChoice>& choices);

}  // namespace attngen::emit
