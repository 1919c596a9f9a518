// Which names macros have: emitted code cannot use them, for the preprocessor would put something
// else in their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attngen::spec {

// Why a macro may have the name: of C's, POSIX's, CUDA's or HIP's headers, any of which a caller
// may include before ours, or of a compiler.
std::optional<std::string> why_macro(std::string_view name);

}  // namespace attngen::spec
