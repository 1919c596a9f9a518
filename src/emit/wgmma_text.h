// The text of the matrix instructions at a kernel's own widths: inline PTX names every accumulator
// register, so it is written out by the generator. It replaces templates/hopper/parts/wgmma_n.cuh.
#pragma once

#include <string>

#include "spec/spec.h"

namespace attngen::emit {

struct WgmmaWidths {
  int tile_kv = 128;            // columns of the scores; a multiple of 16 up to 256
  int head_dim_v = 128;         // columns of the output; a multiple of 8 up to 256
  bool weights_shared = false;  // the second product's left operand: shared memory or registers
  spec::DType dtype = spec::DType::Bf16;
};

// `wgmma_scores` and `wgmma_output` (PTX ISA, "wgmma.mma_async"), with a heading comment.
std::string wgmma_text(const WgmmaWidths& widths);

}  // namespace attngen::emit
