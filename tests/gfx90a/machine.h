// An interpreter of compiled gfx90a (MI200) kernels, for tests on machines without the card.
//
// It runs the machine code itself: registers, EXEC, VCC, SCC, accumulators, LDS, buffers. Vector
// registers, accumulators, scalar registers and LDS start as NaNs. The waves of a block take turns
// of random length in random order, and so do blocks, all from one seed. A fault names the
// instruction, its address, the wave, the block and the seed. Faults are
//   an instruction, modifier or operand that is not known, when the kernel is loaded;
//   memory outside what was mapped, LDS outside what was reserved;
//   a register read or written while a memory operation under way will write it, for want of an
//   s_waitcnt (waits.h);
//   an LDS access that races with another wave's, whatever the schedule (races.h);
//   the result of a matrix instruction used too early (delays.h);
//   a kernel that does not end.
//
// Example: y = 2 x on 1000 floats, 256 threads a block.
//
//   gfx90a::Kernel kernel("scale.co", "scale");             // disassembles with llvm-objdump-15
//   std::vector<float> x(1000), y(1000);
//   struct { const float* x; float* y; int32_t n; } params{x.data(), y.data(), 1000};
//   gfx90a::Memory memory;                                   // device addresses are host addresses
//   memory.map(x.data(), 4000, "x", gfx90a::Access::Read);
//   memory.map(y.data(), 4000, "y");
//   gfx90a::Launch launch;
//   launch.grid = {4, 1, 1};                                 // in blocks
//   launch.block = {256, 1, 1};
//   launch.set_kernarg(params);
//   launch.seed = 7;
//   gfx90a::Counters counters(kernel.instructions());        // adds up over launches
//   gfx90a::run(kernel, launch, memory, counters);           // throws gfx90a::Fault
//   puts(counters.report().c_str());
//
// `gfx90a_run --help` is the same as a command. One thread per run; the host must have AVX2, FMA
// and F16C (`host_can_run`).
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "code_object.h"
#include "counters.h"
#include "decode.h"
#include "memory.h"

namespace gfx90a {

bool host_can_run();

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  Dim3 grid;                       // blocks
  Dim3 block;                      // threads; at most 1024 in all
  std::vector<std::byte> kernarg;  // the explicit arguments, laid out as the kernel declares them
  uint32_t dynamic_lds = 0;        // bytes beyond the kernel's own
  uint64_t seed = 1;
  bool shuffle = true;  // else blocks and waves run in order, each as far as it can
  uint64_t most_instructions = 20'000'000'000;  // of all waves; beyond, the kernel does not end

  template <class T>
  void set_kernarg(const T& arguments) {
    kernarg.resize(sizeof arguments);
    std::memcpy(kernarg.data(), &arguments, sizeof arguments);
  }
};

// One kernel of a code object, decoded.
class Kernel {
 public:
  // An empty name: the file's only kernel. Faults as read_code_object, disassemble and decode do.
  explicit Kernel(const std::string& path, const std::string& name = "",
                  const std::string& objdump = "llvm-objdump-15");
  const KernelDescriptor& descriptor() const { return descriptor_; }
  std::span<const Instruction> instructions() const { return decoded_.instructions; }
  const CodeObject& object() const { return object_; }

 private:
  CodeObject object_;
  KernelDescriptor descriptor_;
  Decoded decoded_;
};

// Runs the whole grid.
void run(const Kernel& kernel, const Launch& launch, Memory& memory, Counters& counters);

}  // namespace gfx90a
