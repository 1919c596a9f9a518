// A compiled gfx90a code object: an ELF file whose kernels each have a descriptor `<kernel>.kd`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fault.h"

namespace gfx90a {

// The fields of the 64-byte kernel descriptor that a launch needs (LLVM's AMDGPU usage guide,
// "Kernel Descriptor").
struct KernelDescriptor {
  std::string name;
  uint64_t entry = 0;          // virtual address of the first instruction
  uint64_t size = 0;           // bytes of code
  uint32_t lds_bytes = 0;      // static; a launch may add dynamic bytes
  uint32_t kernarg_bytes = 0;  // hidden arguments included
  unsigned vgprs = 0;          // v0 .. v[vgprs-1]: the accumulators' first register
  unsigned agprs = 0;
  unsigned user_sgprs = 0;
  bool workgroup_id[3] = {false, false, false};
  // Which user SGPRs are set up, in their order.
  bool private_segment_buffer = false, dispatch_ptr = false, queue_ptr = false;
  bool kernarg_ptr = false, dispatch_id = false, flat_scratch_init = false;
  bool private_segment_size = false;
  uint32_t float_mode = 0;  // FLOAT_MODE: rounding in bits 0-3, f32 denormals in 4-5, f64/f16 6-7
  bool ieee_mode = false, dx10_clamp = false;
};

struct CodeObject {
  std::vector<std::byte> image;  // the loaded segments; index = virtual address
  int abi_version = 0;           // of the ELF header: 2 for code object version 4, 3 for 5
  std::vector<KernelDescriptor> kernels;

  const KernelDescriptor& kernel(const std::string& name) const;  // Fault if there is none
};

// Faults on a file that is not a gfx90a code object, or one that needs relocation or scratch.
CodeObject read_code_object(const std::string& path);

}  // namespace gfx90a
