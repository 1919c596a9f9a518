// Which names a spec itself cannot have, though they are C identifiers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attngen::spec {

// Of "math" the header math.h would be found in the place of C's, of "r" the status R_OK is a
// macro.
std::optional<std::string> why_no_spec_name(std::string_view name);

}  // namespace attngen::spec
