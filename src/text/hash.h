// A hash that is the same on every host.
#pragma once

#include <string>
#include <string_view>

namespace attngen::text {

// 16 hexadecimal digits: FNV-1a 64.
std::string hash(std::string_view bytes);

}  // namespace attngen::text
