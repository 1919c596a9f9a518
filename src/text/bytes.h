// Whether bytes are a text that a reader takes, whatever its syntax.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/diagnostics.h"

namespace attngen::text {

inline constexpr size_t kMaxBytes = size_t{1} << 20;
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The byte where it begins, behind a byte order mark; nothing, with an error, if it has more than
// kMaxBytes, invalid UTF-8 or a control character. `what` has at most so many: "a spec".
std::optional<size_t> check_bytes(Diagnostics& diagnostics, std::string_view what);

}  // namespace attngen::text
