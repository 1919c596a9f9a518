// How the producer tells the consumers of a block of keys: both sides cannot differ on what comes.
#pragma once

#if ATTN_ROWS_DIFFER
// The rows of cells of a tile that keep a block of keys: a bit each.
#if ATTN_CELL_ROWS > 32
using Keepers = uint64_t;
#else
using Keepers = uint32_t;
#endif

#endif
// A block on its way, in one word: its number, whether all its pairs exist (full), whether another
// of the tile follows (more). Consumers vote on it: their branches are the whole warp's, and no
// value moves to a uniform register.
#if ATTN_SKIP && ATTN_MAPS > 1
// Also which 64 rows keep it, since they differ in that: block 3, full, the last, which the first
// ones alone keep, is 3 * 64 + 32 + 1.
#elif ATTN_SKIP
// Also which warpgroups keep it, since they differ in that: block 3, full, the last, which
// warpgroup 0 alone keeps, is 3 * 64 + 32 + 1.
#else
// Block 3, full, the last, is 3 * 4 + 2.
#endif
#if ATTN_GATHER
// A step takes two blocks: full if both are.
#endif
struct Visit {
  int word;
#if ATTN_GATHER
  int second;  // the block that comes with it, or -1
#endif
#if ATTN_ROWS_DIFFER
  Keepers keepers;
#endif
#if ATTN_SKIP
  static constexpr int kKeeperBits = 4;  // a bit for each that may keep it
  static constexpr int kMore = 1 << kKeeperBits, kFull = 2 << kKeeperBits, kShift = 2 + kKeeperBits;
  __device__ __forceinline__ bool keeps(int keeper) const {
    return __any_sync(0xffffffffu, word >> keeper & 1);
  }
#else
  static constexpr int kMore = 1, kFull = 2, kShift = 2;
#endif
  __device__ __forceinline__ bool exists() const { return word >= 0; }
  __device__ __forceinline__ int block() const { return word >> kShift; }
  __device__ __forceinline__ bool full() const { return __any_sync(0xffffffffu, word & kFull); }
  __device__ __forceinline__ bool more() const { return __any_sync(0xffffffffu, word & kMore); }
  __device__ __forceinline__ Visit with_more(bool more) const {
#if ATTN_GATHER
    return {word | (more ? kMore : 0), second};
#elif ATTN_ROWS_DIFFER
    return {word | (more ? kMore : 0), keepers};
#else
    return {word | (more ? kMore : 0)};
#endif
  }
};

#if ATTN_GATHER
constexpr Visit kNoVisit{-1, -1};
#elif ATTN_ROWS_DIFFER
constexpr Visit kNoVisit{-1, 0};
#else
constexpr Visit kNoVisit{-1};
#endif

__device__ __forceinline__ int visit_of(int block, bool full) {
  return block << Visit::kShift | (full ? Visit::kFull : 0);
}

// Visits of up to 32 blocks in their order, one in each of the first `count` lanes.
struct Visits {
  int word = -1, count = 0;
#if ATTN_ROWS_DIFFER
  Keepers keepers = 0;
#endif
};

// Of each lane's block, where it has one (not -1): those that come later have lower lanes already.
#if ATTN_ROWS_DIFFER
__device__ __forceinline__ Visits visits_of(int word, Keepers keepers) {
#else
__device__ __forceinline__ Visits visits_of(int word) {
#endif
  const unsigned kept = __ballot_sync(0xffffffffu, word >= 0);
  int place = 0;  // the last one that has no more lanes with a block before it than this lane
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const unsigned before = kept & ((1u << (place + half)) - 1);
    if (__popc(before) <= static_cast<int>(threadIdx.x % 32)) place += half;
  }
#if ATTN_ROWS_DIFFER
  return {__shfl_sync(0xffffffffu, word, place), __popc(kept),
          __shfl_sync(0xffffffffu, keepers, place)};
#else
  return {__shfl_sync(0xffffffffu, word, place), __popc(kept)};
#endif
}

// Where a warpgroup stands in its blocks: in the one of the visit, or before the first.
struct Cursor {
  Visit visit;
  __device__ __forceinline__ bool has_more() const { return visit.more(); }
  __device__ __forceinline__ int block() const { return visit.block(); }
  __device__ __forceinline__ bool is_full() const { return visit.full(); }
};
