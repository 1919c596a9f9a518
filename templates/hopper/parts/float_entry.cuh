// Reads an entry of a table of floats, whose order it has as a whole number.
#pragma once

struct Floats {
  float least, greatest;  // both NaN if one of them is
};
// Whole numbers of the same order; a NaN is beyond all.
__device__ __forceinline__ int ordered(float x) {
  const int bits = __float_as_int(x);
  return x == x ? bits ^ (bits >> 31 & INT32_MAX) : INT32_MAX;
}
__device__ __forceinline__ float from_ordered(int x) {
  return __int_as_float(x ^ (x >> 31 & INT32_MAX));
}
__device__ __forceinline__ Floats unpacked_floats(int4 x) {
  return {from_ordered(x.y == INT32_MAX ? x.y : x.x), from_ordered(x.y)};
}
