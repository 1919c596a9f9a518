// Attention forward for AMD CDNA2 (gfx90a).
//
// Each wave holds 32 query rows: S^T = K Q^T by matrix instructions into registers, weights in
// place, O^T += V^T P^T, block after block. Keys and values come through LDS, which all waves of
// the block fill together.
#include <hip/hip_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "parts/config.h"
#include "parts/words.h"

namespace {

#include "parts/exchange.h"
#include "parts/buffer.h"
#include "parts/mfma.h"
#include "parts/user.h"
#include "parts/keys.h"
#include "parts/values.h"
#include "parts/products.h"
#if ATTN_EXPONENTIAL
#include "parts/softmax.h"
#endif
#include "parts/tile.h"
#if ATTN_SPARSE
#include "parts/sparse.h"
#endif
#if ATTN_PAGE_SIZE
#include "parts/page_table.h"
#endif
#if ATTN_PAGE_ROWS
#include "parts/page_rows.h"
#elif ATTN_PAGE_SIZE
#include "parts/pages.h"
#endif
#include "parts/loader.h"
#include "parts/weights.h"
#if ATTN_COLUMN_INPUTS
#include "parts/columns.h"
#endif
#include "parts/rows.h"

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, ATTN_WAVES_PER_SIMD)
    attention_forward_kernel(const Params p) {
  __shared__ __attribute__((aligned(128))) uint8_t keys[kKeyBytes];
  __shared__ __attribute__((aligned(128))) uint8_t values[kValueBytes];
  attend(keys, values, p);
}

#include "parts/api.h"
#include "parts/launch.h"
