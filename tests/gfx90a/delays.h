// Results of matrix instructions used too early.
#pragma once

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
    if (slot_ < latest_ && meets_recent(instruction)) check(instruction);
    slot_ += instruction.slots;
    if (instruction.pipe == Pipe::Mfma) start(instruction);
  }

 private:
  // Of a product, A and B alone are looked at.
  bool meets_recent(const Instruction& instruction) const {
    if (instruction.pipe != Pipe::Mfma) return recent_.meets(instruction.touched);
    const auto meets = [&](const Operand& operand) {
      return operand.vector() && recent_.meets(operand.first, operand.count);
    };
    return meets(instruction.op[1]) || meets(instruction.op[2]);
  }
  void start(const Instruction& instruction);
  void check(const Instruction& instruction) const;

  uint64_t slot_ = 0, latest_ = 0;
  std::array<uint64_t, kVectorRows> ready_{};  // the first slot that may use the row
  // All rows that are not ready, and some more: results of late, and those of a while before, which
  // all are ready at `older_ready_`.
  RegisterSet recent_, newer_;
  uint64_t older_ready_ = 0;
};

}  // namespace gfx90a
