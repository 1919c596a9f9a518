// What the tests share: the assembler, the compiler, and single instructions on a wave of their
// own.
#pragma once

#include <doctest/doctest.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decode.h"
#include "machine.h"
#include "wave.h"

namespace gfx90a {

// Bits of numbers, as registers hold them.
uint32_t f32(float value);
uint64_t f64(double value);
uint32_t f16(float value);
uint32_t f16x2(float low, float high);
uint32_t bf16(float value);  // truncated
float to_float(uint32_t bits);
float half_to_float(uint32_t bits);

// A file of that name below a folder of this process's own, removed at its end.
std::string scratch_path(const std::string& name);
void write_text(const std::string& path, const std::string& text);

// Instructions through clang-15 and llvm-objdump-15, decoded with all registers reserved.
Decoded assemble(const std::vector<std::string>& lines);

// A whole kernel in assembly; `body` ends with s_endpgm. s[0:1]: the arguments; v0: the thread.
struct AsmKernel {
  std::string body;
  uint32_t lds_bytes = 0, kernarg_bytes = 64;
};
Kernel assemble_kernel(const AsmKernel& kernel);

// kernels/<name> compiled for gfx90a.
Kernel compile_kernel(const std::string& name, const std::string& flags);

// One wave alone with 64 KiB of LDS, all registers NaN, all lanes active.
class Lone {
 public:
  explicit Lone(const std::vector<std::string>& lines);
  Wave& wave() { return *block_->wave[0]; }
  Block& block() { return *block_; }
  Memory& memory() { return memory_; }
  Counters& counters() { return counters_; }
  const Instruction& instruction(size_t i) const { return program_.instructions[i]; }
  void reset();
  void step(size_t i);  // runs instruction `i`, with the check of waits
  void run_all();       // one after the other, without branches

 private:
  Decoded program_;
  Memory memory_;
  Counters counters_;
  std::unique_ptr<Block> block_;
};

// One value for all lanes, or a function of the lane.
class Value {
 public:
  template <std::integral T>
  Value(T same) : of_([=](unsigned) { return static_cast<uint64_t>(same); }) {}
  template <std::invocable<unsigned> F>
  Value(F of) : of_(std::move(of)) {}
  uint64_t operator()(unsigned lane) const { return of_(lane); }

 private:
  std::function<uint64_t(unsigned)> of_;
};
// A register and what it holds: "v1", "v[2:3]", "a0", "s4", "s[4:5]", "vcc", "exec", "m0", "scc".
struct Holds {
  std::string name;
  Value value;
};
// After `text` runs on a wave that holds `given`, it holds `expected`; lanes that EXEC left out
// hold what they held.
struct Case {
  std::string text;
  std::vector<Holds> given, expected;
};
void check_cases(const std::vector<Case>& cases);

// The message of the fault that `action` throws; "" if it throws none.
template <class Action>
std::string fault_of(Action action) {
  try {
    action();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace gfx90a
