// Where the rows of a tile of biases stand in memory.
#pragma once

struct BiasRows {
  const BiasElement* first;  // the first row, at the block's first key
  int64_t length;            // of a row
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  int64_t of_head;  // from a head's rows to the next one's
#endif
  int last;      // beyond it there is no row: it is repeated
  int keys;      // of a row, from the block's first on
  uint64_t end;  // of the tensor

  __device__ __forceinline__ uint64_t row(int i) const {
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
    // Void rows repeat the last head.
    const int query = i / kGroupRows, head = min(i % kGroupRows, kGroup - 1);
    const BiasElement* const begin = first + min(query, last) * length + head * of_head;
#else
    const BiasElement* const begin = first + min(i, last) * length;
#endif
    return reinterpret_cast<uint64_t>(begin);
  }

  __device__ __forceinline__ bool has_row(int i) const {
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
    return i / kGroupRows <= last && i % kGroupRows < kGroup;
#else
    return i <= last;
#endif
  }

  // Whether there are all rows, and their chunks end before they do.
  __device__ __forceinline__ bool whole() const {
    const bool ends_later = keys >= kTileKv + kCopyChunk / kBiasBytes;
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
    return ends_later && last >= kBiasRows / kGroupRows - 1;
#else
    return ends_later && last >= kBiasRows - 1;
#endif
  }

  // Bytes of a chunk of row i: as far as the row's last key. None: 0 or less.
  __device__ __forceinline__ int count(int i, uint64_t chunk) const {
    const int before = static_cast<int>(chunk - row(i));
    return min(min(keys, 2 * kTileKv) * kBiasBytes - before, kCopyChunk);
  }
};

// Of the 64 rows from `first_row` on.
__device__ __forceinline__ BiasRows bias_rows(int first_row, int kv_first, const Row& row,
                                              const Params& p) {
#if ATTN_PACKED_HEADS
  const int query = first_row / kGroupRows;
#else
  const int query = first_row;
#endif
  const int q_idx = min(query, p.seq_q - 1);
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  Row first_head = row;
  first_head.h = row.h_kv * kGroup;
  const int64_t in_front = int64_t{bias_matrix(first_head, p.inputs)} * p.seq_q + q_idx;
#else
  const int64_t in_front = int64_t{bias_matrix(row, p.inputs)} * p.seq_q + q_idx;
#endif
  BiasRows rows;
  rows.first = bias_data(p.inputs) + in_front * p.seq_kv + kv_first;
  rows.length = p.seq_kv;
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  rows.of_head = int64_t{p.seq_q} * p.seq_kv;
#endif
  rows.last = max(p.seq_q - 1 - query, 0);
  rows.keys = p.seq_kv - kv_first;
  rows.end =
      reinterpret_cast<uint64_t>(bias_data(p.inputs) + bias_matrices(p.batch) * p.seq_q * p.seq_kv);
  return rows;
}
