// What the output reads of inputs in its own column.
#pragma once

// The four lanes of a row exchange words: lane i gets word i of each.
__device__ __forceinline__ void transpose_quad(uint32_t (&words)[4]) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      uint32_t& low = words[i];
      uint32_t& high = words[i | bit];
      const uint32_t other = __shfl_xor_sync(0xffffffffu, upper ? low : high, bit);
      if (upper) {
        low = other;
      } else {
        high = other;
      }
    }
  }
}

// The thread's two elements in each of four blocks of eight columns, of all inputs.
struct ColumnPairs {
  uint32_t words[kColumnInputs][4];

  // A lane loads one of the blocks, 16 bytes, if there are so many.
  __device__ __forceinline__ ColumnPairs(const ColumnRows& rows, int first_column, int blocks) {
    const int block = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < kColumnInputs; ++n) {
      uint4 loaded = {};
      if (block < blocks) {
        loaded = __ldg(reinterpret_cast<const uint4*>(rows.begin[n] + first_column + 8 * block));
      }
      words[n][0] = loaded.x;
      words[n][1] = loaded.y;
      words[n][2] = loaded.z;
      words[n][3] = loaded.w;
      transpose_quad(words[n]);
    }
  }
  // What stands at one of the pair's columns in block i.
  __device__ __forceinline__ void put(Column& column, int i, int half) const {
#pragma unroll
    for (int n = 0; n < kColumnInputs; ++n) {
      column.input[n] = static_cast<uint16_t>(words[n][i] >> (16 * half));
    }
  }
};
