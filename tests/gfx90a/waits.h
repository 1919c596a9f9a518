// Memory operations under way, and what s_waitcnt says of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "instruction.h"
#include "races.h"

namespace gfx90a {

struct MemoryOperation {
  const Instruction* instruction = nullptr;
  bool scalar = false;                // a scalar load
  bool transfer = false;              // from memory to LDS: `buffer_load ... lds`
  unsigned first = 0, registers = 0;  // destination in a RegisterSet
  unsigned accesses = 0;              // of LDS
  LdsAccess access[2];
};

// First in, first out. Slots are reused: an operation carries the addresses of 64 lanes, twice.
class MemoryQueue {
 public:
  size_t size() const { return size_; }
  MemoryOperation& operator[](size_t i) { return slots_[slot(i)]; }
  const MemoryOperation& operator[](size_t i) const { return slots_[slot(i)]; }
  MemoryOperation& push();
  void pop(size_t count);
  void erase(size_t i);

 private:
  size_t slot(size_t i) const { return (head_ + i) & (slots_.size() - 1); }

  std::vector<MemoryOperation> slots_{16};  // as many as a power of two
  size_t head_ = 0, size_ = 0;
};

// The rules of the counters, which this class holds a wave to:
// - vmcnt counts vector memory loads, stores and atomics; they end in order.
// - lgkmcnt counts LDS operations, which end in order, and scalar loads, which do not: while a
//   scalar load is under way only lgkmcnt(0) says that it ended, and lgkmcnt(n) says of LDS
//   operations only that all but the last n of them ended.
class Waits {
 public:
  // Faults if the instruction reads or overwrites a register that an operation under way will
  // write. A load may name the register of an earlier load of the same kind: they end in order.
  void check(const Instruction& instruction) const {
    if (busy_ && pending_.meets(instruction.touched)) check_slowly(instruction);
  }
  // `first` and `registers`: what it will write. The caller fills in the LDS accesses.
  MemoryOperation& issue_vector(const Instruction& instruction, unsigned first, unsigned registers);
  MemoryOperation& issue_lds(const Instruction& instruction, unsigned first, unsigned registers);
  void issue_scalar(const Instruction& instruction, unsigned first, unsigned registers);
  void wait(unsigned vmcnt, unsigned lgkmcnt);

  // Every LDS access under way: visit(access).
  template <class Visit>
  void for_each_lds_access(Visit visit) const {
    for (const MemoryQueue* queue : {&vector_, &local_}) {
      for (size_t i = 0; i < queue->size(); ++i) {
        const MemoryOperation& operation = (*queue)[i];
        for (unsigned k = 0; k < operation.accesses; ++k) visit(operation.access[k]);
      }
    }
  }
  // Faults if the access meets an LDS byte that a transfer of this same wave will still write:
  // transfers and LDS instructions end in no order.
  void check_transfers(const LdsAccess& access) const;

 private:
  void check_slowly(const Instruction& instruction) const;
  MemoryOperation& issue(MemoryQueue& queue, const Instruction& instruction, unsigned first,
                         unsigned registers);
  void update();

  MemoryQueue vector_, local_;  // oldest first; local_ holds LDS and scalar operations
  unsigned scalars_ = 0;        // of local_
  RegisterSet pending_;
  bool busy_ = false;
};

}  // namespace gfx90a
