// The state of a wave and of its block.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "counters.h"
#include "delays.h"
#include "instruction.h"
#include "memory.h"
#include "races.h"
#include "waits.h"

namespace gfx90a {

struct Block;

// A NaN as f32, f64 and as either half of a register as f16 or bf16.
inline constexpr uint32_t kPoison = 0x7FF17FF3;

struct Wave {
  alignas(64) uint32_t v[kVectorRows][kLanes];
  alignas(64) uint32_t s[kScalars];
  bool scc = false;
  uint32_t next = 0;  // index of the next instruction
  uint32_t mode = 0;  // the MODE register: FLOAT_MODE in its low 8 bits
  enum class State : uint8_t { Running, AtBarrier, Ended } state = State::Running;
  unsigned id = 0;  // in the block
  Block* block = nullptr;
  Waits waits;
  Delays delays;

  uint64_t s64(unsigned first) const {
    return s[first] | (static_cast<uint64_t>(s[first + 1]) << 32);
  }
  void set_s64(unsigned first, uint64_t value) {
    s[first] = static_cast<uint32_t>(value);
    s[first + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint64_t exec() const { return s64(kExec); }
};

struct Block {
  Block(uint32_t lds_bytes, unsigned waves, Memory& all_memory, Counters& all_counters)
      : lds(lds_bytes / 4 + 1, kPoison),
        lds_size(lds_bytes),
        races(lds_bytes),
        memory(all_memory),
        counters(all_counters) {
    for (unsigned i = 0; i < waves; ++i) wave.push_back(std::make_unique_for_overwrite<Wave>());
  }
  std::byte* lds_bytes() { return reinterpret_cast<std::byte*>(lds.data()); }

  std::vector<uint32_t> lds;
  uint32_t lds_size;
  std::vector<std::unique_ptr<Wave>> wave;
  uint32_t interval = 0;  // barriers passed
  uint64_t image = 0;     // where the code object is loaded: a program counter's base
  Races races;
  Memory& memory;
  Counters& counters;
};

}  // namespace gfx90a
