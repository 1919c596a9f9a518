// From a line of the listing to what the interpreter runs.
#pragma once

#include <memory>
#include <vector>

#include "code_object.h"
#include "instruction.h"
#include "listing.h"

namespace gfx90a {

struct Decoded {
  std::vector<Instruction> instructions;  // of one kernel, in order
  // What they point to.
  std::vector<std::unique_ptr<Dpp>> dpp;
  std::vector<std::unique_ptr<Line>> lines;
};

// The instructions of `kernel`. Faults, naming the line, on an opcode, operand or modifier that is
// not known, on a register that the kernel did not reserve, and on a branch out of the kernel.
Decoded decode(const std::vector<Line>& listing, const KernelDescriptor& kernel);

}  // namespace gfx90a
