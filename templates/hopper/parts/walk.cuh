// The blocks of keys that a tile visits where the mask leaves gaps, or where its ends take a
// search: the producer alone finds them, and says with every block of keys which one it is, whether
// all its pairs exist, and whether another follows.
#pragma once

// From the last block to the first. All lanes of the producer's warp walk along.
class Walk {
 public:
#if ATTN_FINDS_AHEAD
  Walk() = default;
#endif
  __device__ __forceinline__ Walk(const Tile& tile, const Blocks& blocks, const Params& p)
      : begin_(blocks.begin),
#if ATTN_BLOCK_TEST
#if ATTN_VARLEN
        row_(row_at(tile.b, tile.h, tile.q_first, tile)),
#elif ATTN_PACKED_HEADS
        row_(row_at(tile.b, tile.h, tile.q_first / kGroup, p)),
#else
        row_(row_at(tile.b, tile.h, tile.q_first, p)),
#endif
        q_last_(min(row_.q_idx + kTileQueries, row_.seq_q) - 1),
#else
        blocks_(blocks),
#endif
        left_(blocks.end) {
  }

  // The next block, or one that does not exist.
  __device__ __forceinline__ Visit next(const Inputs& in) {
#if ATTN_BLOCK_TEST
    // The lanes ask about 32 blocks at once.
#pragma unroll 1
    for (; left_ > begin_; left_ = max(left_ - 32, begin_)) {
      const int block = left_ - 1 - static_cast<int>(threadIdx.x % 32);
      const int kv_first = block * kTileKv;
      const int kv_last = min(kv_first + kTileKv, row_.seq_kv) - 1;
      const bool kept =
          block >= begin_ && block_kept(row_.q_idx, q_last_, kv_first, kv_last, row_, in);
      const unsigned found = __ballot_sync(0xffffffffu, kept);
      if (found == 0) continue;
      const bool full = kept && kv_first + kTileKv <= row_.seq_kv &&
                        block_full(row_.q_idx, q_last_, kv_first, kv_last, row_, in);
      const int lane = __ffs(found) - 1;
      left_ -= lane + 1;
      return visit_of(left_, __ballot_sync(0xffffffffu, full) >> lane & 1);
    }
#else
    if (left_ > begin_) {
      --left_;
      return visit_of(left_, blocks_.is_full(left_));
    }
#endif
    return {-1};
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
