#include "waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fault.h"
#include "listing.h"

namespace gfx90a {
namespace {

std::string name_of_register(unsigned index) {
  if (index < kAccumulators) return fmt::format("v{}", index);
  if (index < kVectorRows) return fmt::format("a{}", index - kAccumulators);
  return fmt::format("s{}", index - kVectorRows);
}

bool overlap(const LdsAccess& a, const LdsAccess& b) {
  for (uint64_t i = a.lanes; i != 0; i &= i - 1) {
    const uint32_t at = a.address[std::countr_zero(i)];
    for (uint64_t k = b.lanes; k != 0; k &= k - 1) {
      const uint32_t other = b.address[std::countr_zero(k)];
      if (at < other + b.bytes && other < at + a.bytes) return true;
    }
  }
  return false;
}

// What a load reads: the registers it touches but for its result, operand 0. The d16 forms keep
// half of their result, so they read it too.
RegisterSet sources_of_load(const Instruction& instruction) {
  const std::string& name = instruction.line->mnemonic;
  const bool load = name.find("load") != std::string::npos || name.starts_with("ds_read");
  if (!load || instruction.lds || name.find("d16") != std::string::npos) return instruction.touched;
  RegisterSet sources;
  for (unsigned i = 1; i < instruction.operands; ++i) {
    const Operand& operand = instruction.op[i];
    sources.add(place_of(operand), operand.count);
  }
  return sources;
}

}  // namespace

MemoryOperation& MemoryQueue::push() {
  if (size_ == slots_.size()) {
    std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(head_), slots_.end());
    head_ = 0;
    slots_.resize(2 * slots_.size());
  }
  return (*this)[size_++];
}

void MemoryQueue::pop(size_t count) {
  size_ -= count;
  head_ = size_ == 0 ? 0 : slot(count);  // the first slots are in the cache
}

void MemoryQueue::erase(size_t i) {
  for (; i + 1 < size_; ++i) (*this)[i] = (*this)[i + 1];
  --size_;
}

MemoryOperation& Waits::issue(MemoryQueue& queue, const Instruction& instruction, unsigned first,
                              unsigned registers) {
  MemoryOperation& operation = queue.push();
  operation.instruction = &instruction;
  operation.scalar = operation.transfer = false;
  operation.first = first;
  operation.registers = registers;
  operation.accesses = 0;
  pending_.add(first, registers);
  busy_ = true;
  return operation;
}

MemoryOperation& Waits::issue_vector(const Instruction& instruction, unsigned first,
                                     unsigned registers) {
  return issue(vector_, instruction, first, registers);
}

MemoryOperation& Waits::issue_lds(const Instruction& instruction, unsigned first,
                                  unsigned registers) {
  return issue(local_, instruction, first, registers);
}

void Waits::issue_scalar(const Instruction& instruction, unsigned first, unsigned registers) {
  issue(local_, instruction, first, registers).scalar = true;
  ++scalars_;
}

void Waits::wait(unsigned vmcnt, unsigned lgkmcnt) {
  const size_t before = vector_.size() + local_.size();
  if (vector_.size() > vmcnt) vector_.pop(vector_.size() - vmcnt);
  if (local_.size() > lgkmcnt && (lgkmcnt == 0 || scalars_ == 0)) {
    local_.pop(local_.size() - lgkmcnt);
    scalars_ = 0;
  } else if (local_.size() > lgkmcnt) {
    unsigned newer = 0;  // LDS operations behind the one in hand
    for (size_t i = local_.size(); i-- > 0;) {
      if (local_[i].scalar) continue;
      if (newer++ >= lgkmcnt) local_.erase(i);
    }
  }
  if (vector_.size() + local_.size() < before) update();
}

void Waits::update() {
  pending_ = {};
  for (const MemoryQueue* queue : {&vector_, &local_}) {
    for (size_t i = 0; i < queue->size(); ++i) {
      pending_.add((*queue)[i].first, (*queue)[i].registers);
    }
  }
  busy_ = vector_.size() + local_.size() > 0;
}

void Waits::check_slowly(const Instruction& instruction) const {
  const RegisterSet& touched = instruction.touched;
  for (const MemoryQueue* queue : {&vector_, &local_}) {
    const bool same_kind = instruction.pipe == (queue == &vector_ ? Pipe::Vmem : Pipe::Lds);
    const RegisterSet late = same_kind ? sources_of_load(instruction) : touched;
    for (size_t i = 0; i < queue->size(); ++i) {
      const MemoryOperation& operation = (*queue)[i];
      for (unsigned r = operation.first; r < operation.first + operation.registers; ++r) {
        if (!(operation.scalar ? touched : late).has(r)) continue;
        throw Fault(fmt::format(
            "{} is still under way from `{}` at {:#x}: no s_waitcnt since says that it ended",
            name_of_register(r), operation.instruction->line->text,
            operation.instruction->line->address));
      }
    }
  }
}

void Waits::check_transfers(const LdsAccess& access) const {
  for (size_t i = 0; i < vector_.size(); ++i) {
    if (!vector_[i].transfer || !overlap(access, vector_[i].access[0])) continue;
    throw Fault(
        fmt::format("touches LDS that `{}` at {:#x} is still writing: no s_waitcnt vmcnt since "
                    "says that it ended",
                    vector_[i].instruction->line->text, vector_[i].instruction->line->address));
  }
}

}  // namespace gfx90a
