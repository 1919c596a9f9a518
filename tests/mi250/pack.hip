// Weights packed as forms that are no exponentials pack theirs: check_pack.py runs it.
#include <hip/hip_runtime.h>
#include <stdint.h>

#define ATTN_BF16 1
#define ATTN_EXPONENTIAL 0
constexpr int kKeyBlocks = 1;

// Each needs those before it.
// clang-format off
#include "../../templates/cdna2/parts/words.h"
#include "../../templates/cdna2/parts/mfma.h"
// clang-format on

extern "C" __global__ void pack_pairs(const float* in, uint32_t* out) {
  const int pair = static_cast<int>(threadIdx.x);
  out[pair] = pack_weights(in[2 * pair], in[2 * pair + 1]);
}
