// The text of llvm-objdump, taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fault.h"

namespace gfx90a {

// One line, e.g. `v_lshl_or_b32 v2, s6, 8, v0  // 000000001508: D2000002 04011006`.
struct Line {
  uint64_t address = 0;               // 0x1508
  unsigned bytes = 0;                 // 8, from the encoding
  std::string mnemonic;               // v_lshl_or_b32
  std::vector<std::string> operands;  // v2 s6 8; the last one keeps its modifiers: `v0`
  std::string text;                   // as listed, without the comment
  uint32_t encoding = 0;              // the first word
};

// The instructions of all sections, in order of address. Faults on a line it cannot read.
std::vector<Line> parse_listing(std::string_view text);

// Runs `objdump -d --mcpu=gfx90a path`. Faults if that fails.
std::vector<Line> disassemble(const std::string& objdump, const std::string& path);

}  // namespace gfx90a
