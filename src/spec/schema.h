// The JSON Schema (2020-12) of a spec, as printed by `attngen --schema`.
#pragma once

#include <string>

namespace attngen::spec {

std::string json_schema();  // pretty-printed, ends in a newline, the same bytes always

}  // namespace attngen::spec
