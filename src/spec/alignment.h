// From the bytes of a scalar's value back to the bytes of the source.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attngen::spec {

// For each byte of the value the source byte that it came from, one more for the end, and the end
// of the scalar (closing quote included).
struct Alignment {
  std::vector<uint32_t> bytes;
  size_t end = 0;
};

// `begin` is the scalar's first byte: of a plain YAML text, a quote (also of a JSON string), or the
// | or > of a block. Quotes, escapes, indentation and folded lines are undone. A value that does
// not fit the source maps to `begin` as a whole.
Alignment align(std::string_view source, size_t begin, std::string_view value);

}  // namespace attngen::spec
