// Block sparsity: which blocks of keys a tile visits.
//
// The caller keeps squares of kSquare queries and as many keys. The scout alone finds them, and the
// producer says with every block of keys which one it is and whether another follows: the consumers
// need not come to the same answer, since they are told.
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
// Rows of squares that a tile looks at: one, or each warpgroup's own.
#if ATTN_SKIP
constexpr int kSquareRows = kWarpgroups;
static_assert(kSquareRows <= Visit::kKeeperBits);
#else
constexpr int kSquareRows = 1;
static_assert(kSquare % kTileQueries == 0, "a tile's warpgroups keep the same blocks");
#endif

// Which of the squares that a tile looks at are kept: a bit each, of up to 1024 at a time.
using Kept = unsigned[kSquareRows][32];

// The blocks of keys that a tile visits, from the last to the first. All lanes of a warp walk
// along.
class Walk {
 public:
  __device__ __forceinline__ Walk(const Tile& of, const Blocks& blocks, Kept& kept,
                                  const Params& params)
      : p(params), tile(of), kept_(kept), blocks_(blocks), base_((blocks.end + 31) / 32 * 32) {}

  // The next ones, of 32 blocks at a time; none: no more.
  __device__ __forceinline__ Visits next(const Inputs&) {
    Visits visits;
#pragma unroll 1
    while (base_ > blocks_.begin && visits.count == 0) {
      base_ -= 32;
      const int first = base_ / kBlocksOfSquare;
      if (first < window_) mark_window(first / kWindow * kWindow);
      visits = visits_of(visit_of_lane());
    }
    return visits;
  }

 private:
#if ATTN_SPARSE_BITMAP
  static constexpr int kWindow = 128;  // squares at a time
#else
  static constexpr int kWindow = 1024;  // squares at a time: for each a list is read from its begin
#endif

  // Of the lane's block, base_ + 31 in lane 0; none: -1.
  __device__ __forceinline__ int visit_of_lane() const {
    const int block = base_ + 31 - static_cast<int>(threadIdx.x % 32);
    const int square = block / kBlocksOfSquare - window_;
    int keepers = 0;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      keepers |= (kept_[i][square / 32] >> square % 32 & 1) << i;
    }
    if (keepers == 0 || block < blocks_.begin || block >= blocks_.end) return -1;
#if ATTN_SKIP
    return visit_of(block, blocks_.is_full(block)) | keepers;
#else
    return visit_of(block, blocks_.is_full(block));
#endif
  }

  // The tile's i-th row of squares; none: -1.
  __device__ __forceinline__ int64_t row(int i) const {
#if ATTN_PACKED_HEADS
    int query = tile.q_first / kGroupRows;
#else
    int query = tile.q_first;
#endif
#if ATTN_SKIP
    query += kTileQueries / kWarpgroups * i;  // warpgroup i's first
    if (query >= p.seq_q) return -1;
#endif
    const int head = tile.h / (kHeadsQ / kSquareHeads);
    return (int64_t{tile.b} * kSquareHeads + head) * p.squares_q + query / kSquare;
  }

  // Of `window` and the squares after it what the tile's rows keep. All rows' loads are on their
  // way at once.
#if ATTN_SPARSE_BITMAP
  __device__ __forceinline__ void mark_window(int window) {
    const int lane = threadIdx.x % 32;
    window_ = window;
    uint8_t squares[kSquareRows][kWindow / 32] = {};
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
#pragma unroll
      for (int word = 0; word < kWindow / 32; ++word) {
        const int square = window + 32 * word + lane;
        if (row(i) < 0 || square >= p.squares_kv) continue;
        squares[i][word] = __ldg(p.block_mask + row(i) * p.squares_kv + square);
      }
    }
    __syncwarp();  // all lanes have read what was there
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
#pragma unroll
      for (int word = 0; word < kWindow / 32; ++word) {
        const unsigned bits = __ballot_sync(0xffffffffu, squares[i][word] != 0);
        if (lane == 0) kept_[i][word] = bits;
      }
    }
    __syncwarp();
  }
#else
  // The order of a list does not matter, and an entry may stand twice; one that is no square is
  // passed over.
  __device__ __forceinline__ void mark_window(int window) {
    const int lane = threadIdx.x % 32;
    window_ = window;
    int counts[kSquareRows] = {}, entries[kSquareRows] = {};
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      if (row(i) < 0) continue;
      counts[i] = min(__ldg(p.block_counts + row(i)), p.squares_kv);
      if (lane < p.squares_kv) entries[i] = __ldg(p.block_indices + row(i) * p.squares_kv + lane);
    }
    __syncwarp();  // all lanes have read what was there
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) kept_[i][lane] = 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
#pragma unroll 1
      for (int place = lane; place < counts[i]; place += 32) {
        const int entry =
            place < 32 ? entries[i] : __ldg(p.block_indices + row(i) * p.squares_kv + place);
        const bool is_here = entry >= window && entry - window < kWindow;
        if (is_here) atomicOr(&kept_[i][(entry - window) / 32], 1u << entry % 32);
      }
    }
    __syncwarp();
  }
#endif

  const Params& p;
  const Tile& tile;
  Kept& kept_;
  Blocks blocks_;           // that the mask needs
  int base_;                // all blocks before it are still to come
  int window_ = INT32_MAX;  // the first square that kept_ is about
};
