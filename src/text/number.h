// Numbers as texts spell them.
#pragma once

#include <string_view>

namespace attngen::text {

// Of a text that is a number in decimals, with an exponent or none. What is too large for a double
// is an infinity, what is too small the smallest that is not 0.
double nearest_double(std::string_view text);

}  // namespace attngen::text
