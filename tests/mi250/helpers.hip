// What users' functions may call, all of it: the templates call it for some specs only.
#include <hip/hip_runtime.h>
#include <stdint.h>

namespace {

#define ATTN_OTHER_HALF 1  // as parts/config.h has it
#include "../../templates/cdna2/parts/helpers.h"

}  // namespace

__global__ void call_helpers(const int* values, int length, uint16_t half, float* out) {
  out[0] = divide_approx(pair_sum(from_bf16(half)), pair_max(from_fp16(half)));
  out[2] = add_apart(out[0], subtract_apart(out[0], out[1]));
  out[1] = count_within<false>(values, count<true>(values, length, 1), length, 2);
}
