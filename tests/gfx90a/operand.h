// Operands as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "instruction.h"

namespace gfx90a {

// `-|v3|`, `v[0:3]`, `a1`, `s[4:5]`, `vcc`, `0x3fc`, `-16`, `0.5`, `sext(v1)`, `off`. Faults on
// anything else.
Operand parse_operand(std::string_view text);

// The integer, decimal or hexadecimal; nothing if it is none.
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace gfx90a
