// Block sparsity: which blocks of keys a tile visits.
//
// The caller keeps squares of kSquare queries and as many keys. The producer alone finds them, and
// says with every block of keys which one it is and whether another follows: the consumers need
// not come to the same answer, since they are told.
#pragma once

constexpr int kSquare = ATTN_SPARSE_SIZE;
constexpr int kSquareHeads = ATTN_SPARSE_HEADS;  // that keep squares of their own
#if ATTN_GATHER
constexpr int kBlocksOfSquare = 1;  // of the blocks that the mask needs
static_assert(kBlockKv == kSquare && kTileKv == 2 * kSquare, "a step takes two squares");
#else
constexpr int kBlocksOfSquare = kSquare / kTileKv;
static_assert(kSquare % kTileKv == 0 && kSquare % 64 == 0, "no block of keys is kept in part");
#endif
constexpr int kWarpgroupQueries = kTileQueries / kWarpgroups;
// Rows of squares that a tile looks at: one, or each warpgroup's own.
#if ATTN_SKIP
constexpr int kSquareRows = kWarpgroups;
#else
constexpr int kSquareRows = 1;
static_assert(kSquare % kTileQueries == 0, "a tile's warpgroups keep the same blocks");
#endif

// The blocks of keys that a tile visits, from the last to the first. All lanes of the producer warp
// walk along.
class Walk {
 public:
  __device__ __forceinline__ Walk(const Tile& tile, const Blocks& blocks, const Params& p)
      : blocks_(blocks) {
    first_square_ = blocks.begin / kBlocksOfSquare;
    end_square_ = min((blocks.end + kBlocksOfSquare - 1) / kBlocksOfSquare, p.squares_kv);
#if ATTN_PACKED_HEADS
    const int q_first = tile.q_first / kGroup;
#else
    const int q_first = tile.q_first;
#endif
    q_first_ = q_first % kSquare;
    q_end_ = min(kTileQueries, p.seq_q - q_first);
    const int head = tile.h / (kHeadsQ / kSquareHeads);
    const int64_t row = (int64_t{tile.b} * kSquareHeads + head) * p.squares_q + q_first / kSquare;
    width_ = p.squares_kv;
#if ATTN_SPARSE_BITMAP
    first_row_ = p.block_mask + row * width_;
#else
    first_row_ = p.block_indices + row * width_;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      const bool asks = kWarpgroupQueries * i < q_end_ && end_square_ > 0;
      left_[i] = asks ? max(0, min(__ldg(p.block_counts + row + below(i)), width_)) : 0;
    }
#endif
    start();
#if ATTN_GATHER
    waits_ = next_square();
#endif
  }

#if ATTN_GATHER
  // The next two blocks; the last of an odd number by itself; then none.
  __device__ __forceinline__ Visit next(const Inputs&) {
    if (!waits_) return {-1, -1};
    const int first = square_;
    const bool full = blocks_.is_full(first);
    waits_ = next_square();
    if (!waits_) return visit_of(first, -1, false);
    const int second = square_;
    waits_ = next_square();
    return visit_of(first, second, full && blocks_.is_full(second));
  }
#else
  // The next block, or one that does not exist.
  __device__ __forceinline__ Visit next(const Inputs&) {
    while (true) {
      while (block_of_square_ > 0) {
        const int block = square_ * kBlocksOfSquare + --block_of_square_;
        if (block < blocks_.begin || block >= blocks_.end) continue;
#if ATTN_SKIP
        return {visit_of(block, blocks_.is_full(block)).word | keepers_};
#else
        return visit_of(block, blocks_.is_full(block));
#endif
      }
      if (!next_square()) return {-1};
      block_of_square_ = kBlocksOfSquare;
    }
  }
#endif

 private:
  // By how many rows of squares warpgroup i is below the tile's first.
  __device__ __forceinline__ int below(int i) const {
    return (q_first_ + kWarpgroupQueries * i) / kSquare;
  }

#if ATTN_SPARSE_BITMAP
  // A lane looks at one square of 32; the next 32 are on their way meanwhile.
  __device__ __forceinline__ void start() {
    base_ = (max(end_square_, 1) - 1) / 32 * 32 + 32;
    fetch();
  }
  __device__ __forceinline__ void fetch() {
    const int square = base_ - 32 + static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      const bool asks =
          kWarpgroupQueries * i < q_end_ && square >= first_square_ && square < end_square_;
      fetched_[i] = asks ? __ldg(first_row_ + (int64_t{width_} * below(i) + square)) : uint8_t{0};
    }
  }
  __device__ __forceinline__ bool next_square() {
    while (taken_ == kept_) {
      if (base_ <= first_square_) return false;
      base_ -= 32;
      sort_kept();
      fetch();
    }
    const int found = __shfl_sync(0xffffffffu, found_, taken_++);
    square_ = found >> kShift;
    keepers_ = found & ((1 << kShift) - 1);
    return true;
  }

  // Lane n takes the n-th kept square from the last of the 32 on, and who keeps it: all at once, so
  // that a step of the walk is one shuffle.
  __device__ __forceinline__ void sort_kept() {
    int keepers = 0;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) keepers |= (fetched_[i] != 0) << i;
    const unsigned kept = __ballot_sync(0xffffffffu, keepers != 0);
    kept_ = __popc(kept);
    taken_ = 0;
    int place = 0;  // the last one that has as many kept ones from it on
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
      if (__popc(kept >> (place + half)) > static_cast<int>(threadIdx.x % 32)) place += half;
    }
    found_ = (base_ + place) << kShift | __shfl_sync(0xffffffffu, keepers, place);
  }

  static constexpr int kShift = 4;  // of a square, behind the bits of who keeps it

  const uint8_t* first_row_;
  uint8_t fetched_[kSquareRows];
  int found_ = 0, kept_ = 0, taken_ = 0;  // of the squares base_ ... base_ + 31
  int base_;
#else
  // A lane holds one entry of 32; the lists are read from their ends.
  __device__ __forceinline__ void start() {
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) fetch(i);
  }
  __device__ __forceinline__ void fetch(int i) {
    const int entry = (left_[i] - 1) / 32 * 32 + static_cast<int>(threadIdx.x % 32);
    fetched_[i] = entry < left_[i] ? __ldg(first_row_ + (int64_t{width_} * below(i) + entry)) : -1;
  }
  // The largest of the lists' ends: a square that several warpgroups keep is loaded once if their
  // lists ascend. One that lies outside what the mask needs, or outside the keys, is passed over.
  __device__ __forceinline__ bool next_square() {
    while (true) {
      int ends[kSquareRows];
      bool any = false;
      square_ = INT32_MIN;
#pragma unroll
      for (int i = 0; i < kSquareRows; ++i) {
        ends[i] = __shfl_sync(0xffffffffu, fetched_[i], (left_[i] - 1) & 31);
        if (left_[i] <= 0) continue;
        any = true;
        square_ = max(square_, ends[i]);
      }
      if (!any) return false;
      keepers_ = 0;
#pragma unroll
      for (int i = 0; i < kSquareRows; ++i) {
        if (left_[i] <= 0 || ends[i] != square_) continue;
        keepers_ |= 1 << i;
        if (--left_[i] % 32 == 0) fetch(i);
      }
      if (square_ >= first_square_ && square_ < end_square_) return true;
    }
  }

  const int32_t* first_row_;
  int fetched_[kSquareRows];
  int left_[kSquareRows];  // entries still to come
#endif
  int q_first_, q_end_;            // of the tile's queries, from its first row of squares on
  int width_;                      // squares of a row
  Blocks blocks_;                  // that the mask needs
  int first_square_, end_square_;  // that hold them
#if ATTN_GATHER
  int square_ = 0, keepers_ = 0;
  bool waits_;  // square_ is still to come
#else
  int square_ = 0, block_of_square_ = 0, keepers_ = 0;
#endif
};
