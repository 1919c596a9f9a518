// Results of matrix instructions used too early.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "instruction.h"

namespace gfx90a {

// The hardware does not hold back an instruction that reads or overwrites the result of a matrix
// instruction, or takes it as A or B of another: a number of slots must lie between (LLVM's hazard
// recogniser for gfx90a): 19 after 32x32 forms, 11 after 16x16, 5 after 4x4. An instruction is one
// slot, `s_nop n` n + 1. A compiler sees to it except in inline assembly. Not checked: a result as
// C of a product whose D lies elsewhere, fp64 forms, and all hazards of other instructions.
class Delays {
 public:
  // Call for every instruction before it runs.
  void step(const Instruction& instruction) {
    if (slot_ < latest_) check(instruction);
    slot_ += instruction.pipe == Pipe::Nop ? instruction.immediate + 1 : 1;
    if (instruction.pipe == Pipe::Mfma) start(instruction);
  }

 private:
  void start(const Instruction& instruction) {
    const Operand& result = instruction.op[0];
    latest_ = slot_ + instruction.result_delay;
    std::fill_n(ready_.begin() + result.first, result.count, latest_);
  }
  void check(const Instruction& instruction) const;

  uint64_t slot_ = 0, latest_ = 0;
  std::array<uint64_t, kVectorRows> ready_{};  // the first slot that may use the row
};

}  // namespace gfx90a
