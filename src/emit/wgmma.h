// The Hopper matrix instructions at a kernel's widths: what replaces parts/wgmma_n.cuh.
#pragma once

#include <string>

#include "spec/spec.h"

namespace attngen::emit {

// PTX names every register of an instruction, so that its text depends on the width N: tile_kv for
// the scores, head_dim_v for the output, multiples of 8 up to 256.
struct MatrixWidths {
  spec::DType dtype = spec::DType::Bf16;
  int tile_kv = 128;
  int head_dim_v = 128;
  bool weights_shared = false;  // the weights are read from shared memory, not from registers
  int state_columns = 0;        // of a state that one instruction makes; 0: none, no far keys
  bool far_queries = false;     // products of far keys have their queries in registers
  bool scan = false;            // 64 columns of an output, or of a state, at a time
};
std::string wgmma_functions(const MatrixWidths& widths);

}  // namespace attngen::emit
