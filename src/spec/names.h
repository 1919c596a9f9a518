// Which names a user may give.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/spec.h"

namespace attngen::spec {

// Why the text cannot name a C symbol or file: "a C keyword"; nothing if it can.
std::optional<std::string> why_no_identifier(std::string_view text);

// Why an input, constant, row or saved value cannot have the name, given that it is an identifier:
// expressions, the argument struct or emitted code use it already.
std::optional<std::string> why_reserved(std::string_view name, Pattern pattern);

}  // namespace attngen::spec
