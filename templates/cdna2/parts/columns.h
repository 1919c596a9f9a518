// What the output reads of inputs in its own column.
#pragma once

// The lane's elements of a block of 32 columns, four side by side at a time, of all inputs.
struct ColumnWords {
  Words2 quads[ATTN_COLUMN_INPUTS][4];

  __device__ __forceinline__ ColumnWords(const ColumnRows& rows, int first_column) {
#pragma unroll
    for (int n = 0; n < ATTN_COLUMN_INPUTS; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // The last block may end beyond the row.
        const int column = min(first_column + 8 * i + 4 * lane_half(), kHeadDimV - 4);
        quads[n][i] = *reinterpret_cast<const Words2*>(rows.begin[n] + column);
      }
    }
  }
  __device__ __forceinline__ void put(Column& column, int e) const {
#pragma unroll
    for (int n = 0; n < ATTN_COLUMN_INPUTS; ++n) {
      column.input[n] = static_cast<uint16_t>(quads[n][e / 4][e % 4 / 2] >> (e % 2 * 16));
    }
  }
};
