// The table of all instructions the interpreter knows, by mnemonic without encoding suffix. Those
// of integers that clamp are entries of their own: "v_add_i32 clamp".
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>

#include "instruction.h"

namespace gfx90a {

struct Opcode {
  Handler run = nullptr;
  Pipe pipe = Pipe::Valu;
};

class OpcodeTable {
 public:
  struct Entry {
    const char* mnemonic;
    Handler run;
  };
  void add(Pipe pipe, std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) opcodes_[entry.mnemonic] = {entry.run, pipe};
  }
  const Opcode* find(const std::string& mnemonic) const {
    const auto found = opcodes_.find(mnemonic);
    return found == opcodes_.end() ? nullptr : &found->second;
  }
  size_t size() const { return opcodes_.size(); }

 private:
  std::unordered_map<std::string, Opcode> opcodes_;
};

const OpcodeTable& opcodes();

// For what is not modelled and changes no result: caches, priorities.
inline void nothing(Wave&, const Instruction&) {}

// Each file ops_*.cpp adds its own.
void add_float_ops(OpcodeTable& table);
void add_double_ops(OpcodeTable& table);
void add_half_ops(OpcodeTable& table);
void add_packed_ops(OpcodeTable& table);
void add_transcendental_ops(OpcodeTable& table);
void add_conversion_ops(OpcodeTable& table);
void add_integer_ops(OpcodeTable& table);
void add_carry_ops(OpcodeTable& table);
void add_compare_ops(OpcodeTable& table);
void add_lane_ops(OpcodeTable& table);
void add_mfma_ops(OpcodeTable& table);
void add_scalar_ops(OpcodeTable& table);
void add_scalar_compare_ops(OpcodeTable& table);
void add_control_ops(OpcodeTable& table);
void add_scalar_memory_ops(OpcodeTable& table);
void add_lds_ops(OpcodeTable& table);
void add_memory_ops(OpcodeTable& table);

}  // namespace gfx90a
