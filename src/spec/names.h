// Which names a user may give.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/spec.h"

namespace attngen::spec {

// Why the text is no C identifier of the length that names may have; nothing if it is.
std::optional<std::string> why_no_identifier(std::string_view text);

// Why an identifier names no C symbol: it is a word of the language.
std::optional<std::string> why_keyword(std::string_view name);

// Why nothing in a spec can have the name, given that it is an identifier: expressions, the
// argument struct or emitted code use it already.
std::optional<std::string> why_reserved(std::string_view name, Pattern pattern);

}  // namespace attngen::spec
