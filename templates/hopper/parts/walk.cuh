// The blocks of keys that a tile visits where the mask leaves gaps, or where its ends take a
// search: the scout alone finds them, and the producer says with every block of keys which one it
// is, whether all its pairs exist, and whether another follows.
#pragma once

// From the last block to the first. All lanes of a warp walk along.
class Walk {
 public:
  __device__ __forceinline__ Walk(const Tile& tile, const Blocks& blocks, const Params& p)
      : begin_(blocks.begin),
#if ATTN_BLOCK_TEST
#if ATTN_VARLEN && ATTN_PACKED_HEADS
        row_(row_at(tile.b, tile.h, tile.q_first / kGroupRows, tile)),
#elif ATTN_VARLEN
        row_(row_at(tile.b, tile.h, tile.q_first, tile)),
#elif ATTN_PACKED_HEADS
        row_(row_at(tile.b, tile.h, tile.q_first / kGroupRows, p)),
#else
        row_(row_at(tile.b, tile.h, tile.q_first, p)),
#endif
        q_last_(min(row_.q_idx + kTileQueries, row_.seq_q) - 1),
#else
        blocks_(blocks),
#endif
        left_(blocks.end) {
  }

  // The next ones, of 32 blocks at a time; none: no more.
  __device__ __forceinline__ Visits next(const Inputs& in) {
    Visits visits;
#pragma unroll 1
    while (left_ > begin_ && visits.count == 0) {
      const int block = left_ - 1 - static_cast<int>(threadIdx.x % 32);
      const bool exists = block >= begin_;
#if ATTN_BLOCK_TEST
      const int kv_first = block * kTileKv;
      const int kv_last = min(kv_first + kTileKv, row_.seq_kv) - 1;
      const bool kept = exists && block_kept(row_.q_idx, q_last_, kv_first, kv_last, row_, in);
      const bool full = kept && kv_first + kTileKv <= row_.seq_kv &&
                        block_full(row_.q_idx, q_last_, kv_first, kv_last, row_, in);
      visits = visits_of(kept ? visit_of(block, full) : -1);
#else
      visits = visits_of(exists ? visit_of(block, blocks_.is_full(block)) : -1);
#endif
      left_ = max(left_ - 32, begin_);
    }
    return visits;
  }

 private:
  int begin_;
#if ATTN_BLOCK_TEST
  Row row_;
  int q_last_;
#else
  Blocks blocks_;
#endif
  int left_;  // all blocks before it are still to come
};
