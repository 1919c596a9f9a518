// What users' functions may call, all of it: the templates call it for some specs only.
#include <stdint.h>

namespace {

#include "../../templates/hopper/parts/float_entry.cuh"
#include "../../templates/hopper/parts/helpers.cuh"
#include "../../templates/hopper/parts/ids.cuh"
// After them.
#include "../../templates/hopper/parts/id_entry.cuh"

}  // namespace

__global__ void call_helpers(const int* values, int length, uint16_t half, int4* ids, float* out) {
  out[0] = quad_sum(from_bf16(half)) + quad_max(from_fp16(half));
  const int limits[2] = {1, 2};
  int counts[2];
  count<2>(values, length, limits, counts);
  out[1] = count_within<false>(values, counts[0], counts[1], 3);
  Ids entry = unpacked_ids(*ids);
  entry.bits |= uint64_t{1} << bit_of(length);
  const Floats floats = unpacked_floats(ids[1]);
  entry.least = ordered(floats.least + floats.greatest);
  *ids = packed_ids(entry);
}
