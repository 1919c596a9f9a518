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
static_assert(kSquareRows <= Visit::kKeeperBits);
#else
constexpr int kSquareRows = 1;
static_assert(kSquare % kTileQueries == 0, "a tile's warpgroups keep the same blocks");
#endif

#if !ATTN_SPARSE_BITMAP
// Of all lanes. __reduce_or_sync would not compile for an architecture before sm_80, beside this
// one.
__device__ __forceinline__ unsigned warp_or(unsigned x) {
  unsigned all;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(all) : "r"(x));
  return all;
}

#endif
// The blocks of keys that a tile visits, from the last to the first. All lanes of the producer warp
// walk along.
class Walk {
 public:
#if ATTN_FINDS_AHEAD
  Walk() = default;
#endif
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
    first_count_ = p.block_counts + row;
#endif
    base_ = (max(end_square_, 1) - 1) / 32 * 32 + 32;
#if ATTN_SPARSE_BITMAP
    fetch();
#else
    request();
#endif
  }

  // The constructor asks memory, and this needs the answer.
  __device__ __forceinline__ void begin() {
#if !ATTN_SPARSE_BITMAP
    mark_window();
    look();
#endif
  }

#if ATTN_GATHER
  // The next two blocks; the last of an odd number by itself; then none.
  __device__ __forceinline__ Visit next(const Inputs&) {
    if (!next_square()) return {-1, -1};
    const int first = square_;
    if (!next_square()) return visit_of(first, -1, false);
    return visit_of(first, square_, blocks_.is_full(first) && blocks_.is_full(square_));
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
  // Whether warpgroup i has a query.
  __device__ __forceinline__ bool asks(int i) const { return kWarpgroupQueries * i < q_end_; }

#if ATTN_SPARSE_BITMAP
  // A lane looks at one square of 32; the next 32 are on their way meanwhile.
  __device__ __forceinline__ void fetch() {
    const int square = base_ - 32 + static_cast<int>(threadIdx.x % 32);
    const bool exists = square >= first_square_ && square < end_square_;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      fetched_[i] = asks(i) && exists ? __ldg(first_row_ + (int64_t{width_} * below(i) + square))
                                      : uint8_t{0};
    }
  }
#else
  // How long the lists are, and their first entries.
  __device__ __forceinline__ void request() {
    const bool exist = first_square_ < end_square_;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      counts_[i] = asks(i) && exist ? min(__ldg(first_count_ + below(i)), width_) : 0;
      entries_[i] = asks(i) && exist ? entry(i, threadIdx.x % 32) : -1;
    }
  }

  __device__ __forceinline__ void fetch() {
    if (base_ <= first_square_) return;
    if (base_ <= window_) {
      request();
      mark_window();
    }
    look();
  }

  // A lane looks at one square of 32.
  __device__ __forceinline__ void look() {
    const int word = (base_ - window_) / 32 - 1;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      fetched_[i] = __shfl_sync(0xffffffffu, words_[i], word) >> threadIdx.x % 32 & 1;
    }
  }

  // The squares of a list as bits, 32 in each lane's word: so their order does not matter, and one
  // may stand twice.
  __device__ __forceinline__ void mark_window() {
    window_ = (base_ - 1) / kWindow * kWindow;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) {
      words_[i] = 0;
#pragma unroll 1
      for (int first = 0; first < counts_[i]; first += 32) {
        if (first > 0) entries_[i] = entry(i, first + lane);
        mark(words_[i], first + lane < counts_[i] ? entries_[i] : -1);
      }
    }
  }
  __device__ __forceinline__ int entry(int i, int place) const {
    return place < width_ ? __ldg(first_row_ + (int64_t{width_} * below(i) + place)) : -1;
  }
  // A square that lies outside what the mask needs, or outside the keys, is passed over.
  __device__ __forceinline__ void mark(unsigned& my_word, int square) const {
    const int end = min(end_square_, window_ + kWindow), words = (end - window_ + 31) / 32;
    const bool counts = square >= max(first_square_, window_) && square < end;
    if (!__any_sync(0xffffffffu, counts)) return;
#pragma unroll 4
    for (int word = 0; word < words; ++word) {
      const bool is_here = counts && (square - window_) / 32 == word;
      const unsigned bits = warp_or(is_here ? 1u << square % 32 : 0u);
      if (static_cast<int>(threadIdx.x % 32) == word) my_word |= bits;
    }
  }
#endif
  __device__ __forceinline__ bool next_square() {
    while (taken_ == kept_) {
      if (base_ <= first_square_) return false;
      base_ -= 32;
      sort_kept();
      fetch();
    }
    const int found = __shfl_sync(0xffffffffu, found_, taken_++);
    square_ = found >> Visit::kKeeperBits;
    keepers_ = found & ((1 << Visit::kKeeperBits) - 1);
    return true;
  }

  // Lane 0 takes the last kept square of the 32, lane 1 the one before it, and so on, each with who
  // keeps it: all at once, so that a step of the walk is one shuffle.
  __device__ __forceinline__ void sort_kept() {
    int keepers = 0;
#pragma unroll
    for (int i = 0; i < kSquareRows; ++i) keepers |= (fetched_[i] != 0) << i;
    const unsigned kept = __ballot_sync(0xffffffffu, keepers != 0);
    kept_ = __popc(kept);
    taken_ = 0;
    int place = 0;  // the last place from which on more are kept than there are lanes before
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
      if (__popc(kept >> (place + half)) > static_cast<int>(threadIdx.x % 32)) place += half;
    }
    found_ = (base_ + place) << Visit::kKeeperBits | __shfl_sync(0xffffffffu, keepers, place);
  }

#if ATTN_SPARSE_BITMAP
  const uint8_t* first_row_;
  uint8_t fetched_[kSquareRows];  // whether the rows keep the lane's square of base_ - 32 ...
#else
  static constexpr int kWindow = 1024;  // a word for each lane

  const int32_t *first_row_, *first_count_;
  int counts_[kSquareRows], entries_[kSquareRows];  // a lane's first entry
  unsigned words_[kSquareRows];
  unsigned fetched_[kSquareRows] = {};  // whether the rows keep the lane's square of base_ - 32 ...
  int window_;                          // the first square that the words are about
#endif
  int base_;
  int found_ = 0, kept_ = 0, taken_ = 0;  // of the squares base_ ... base_ + 31
  int q_first_, q_end_;                   // of the tile's queries, from its first row of squares on
  int width_;                             // squares of a row
  Blocks blocks_;                         // that the mask needs
  int first_square_, end_square_;         // that hold them
#if ATTN_GATHER
  int square_ = 0, keepers_ = 0;
#else
  int square_ = 0, block_of_square_ = 0, keepers_ = 0;
#endif
};
