// The mask of a block ahead of its products: a pair that does not exist begins at -inf, and stays
// there whatever is added. So a block that the mask cuts goes the way of a full one.
#pragma once

// Of the thread's 16 columns of 64, 8 j and 8 j + 1, those before `column`: a bit each, in order.
__device__ __forceinline__ unsigned columns_before(int column) {
  const int within = max(0, min(column, 64));
  return (1u << (within / 8 * 2 + min(within % 8, 2))) - 1;
}

// Where the products of two rows with the keys from kv_first on, the thread's first, begin to add
// up: at 0, or at -inf.
__device__ __forceinline__ void begin_scores(float (&scores)[kTileKv / 8][2][2], int kv_first,
                                             const Row (&rows)[2], const Inputs& in) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if ATTN_SEARCHED_LIMITS
    const int2 keys = *rows[r].keys;  // found when the tile began
    const int begin = keys.x - kv_first;
    const int end = keys.y - kv_first;
#else
    const KeyRange keys = key_range(rows[r].q_idx, rows[r].q_idx, rows[r], in);
    const int begin = keys.begin - kv_first;
    const int end = keys.end - kv_first;
#endif
#pragma unroll
    for (int first = 0; first < kTileKv; first += 64) {
      const unsigned exist = columns_before(end - first) & ~columns_before(begin - first);
#pragma unroll
      for (int i = 0; i < 16 && first / 4 + i < kTileKv / 4; ++i) {
        scores[first / 8 + i / 2][r][i % 2] = exist >> i & 1 ? 0 : -INFINITY;
      }
    }
  }
}
