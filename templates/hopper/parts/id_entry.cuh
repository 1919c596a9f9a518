// Reads an entry of a table of ids.
#pragma once

__device__ __forceinline__ Ids unpacked_ids(int4 x) {
  return {x.x, x.y, uint64_t{static_cast<unsigned>(x.w)} << 32 | static_cast<unsigned>(x.z)};
}
