// An entry of the tables of ids in no order: what a tile's queries or a block's keys hold of them;
// of floats its two ends.
#pragma once

struct Ids {
  int least, greatest;
  uint64_t bits;  // bit_of each
};
__device__ __forceinline__ unsigned bit_of(int id) {
  return static_cast<unsigned>(id) * 0x9E3779B1u >> 26;
}
__device__ __forceinline__ int4 packed_ids(const Ids& ids) {
  return make_int4(ids.least, ids.greatest, static_cast<int>(ids.bits),
                   static_cast<int>(ids.bits >> 32));
}
