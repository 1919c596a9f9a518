#include "delays.h"

#include <fmt/format.h>

#include <algorithm>

#include "fault.h"

namespace gfx90a {

void Delays::start(const Instruction& instruction) {
  const Operand& result = instruction.op[0];
  if (slot_ >= older_ready_) {
    recent_ = newer_;
    newer_ = {};
    older_ready_ = latest_;
  }
  latest_ = std::max(latest_, slot_ + instruction.result_delay);
  std::fill_n(ready_.begin() + result.first, result.count, slot_ + instruction.result_delay);
  newer_.add(result.first, result.count);
  recent_.add(result.first, result.count);
}

void Delays::check(const Instruction& instruction) const {
  const bool product = instruction.pipe == Pipe::Mfma;
  const unsigned first = product ? 1 : 0, last = product ? 3U : instruction.operands;
  for (unsigned i = first; i < last; ++i) {
    const Operand& operand = instruction.op[i];
    if (!operand.vector()) continue;
    for (unsigned row = operand.first; row < operand.first + operand.count; ++row) {
      if (slot_ >= ready_[row]) continue;
      throw Fault(fmt::format("uses {}{} {} slots too soon after a matrix instruction wrote it",
                              row < kAccumulators ? 'v' : 'a', row % kAccumulators,
                              ready_[row] - slot_));
    }
  }
}

}  // namespace gfx90a
