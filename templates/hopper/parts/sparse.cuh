// Block sparsity: which blocks of keys a tile visits.
//
// The caller keeps cells of kCellQueries queries and kCellKeys keys. The scout alone finds them,
// and the producer says with every block of keys which one it is and whether another follows: the
// consumers need not come to the same answer, since they are told.
#pragma once

constexpr int kCellQueries = ATTN_SPARSE_QUERIES;
constexpr int kCellKeys = ATTN_SPARSE_SIZE;
constexpr int kCellHeads = ATTN_SPARSE_HEADS;  // that keep cells of their own
#if ATTN_GATHER
constexpr int kBlocksOfCell = 1;  // of the blocks that the mask needs
static_assert(kBlockKv == kCellKeys && kTileKv == 2 * kCellKeys, "a step takes two cells");
#else
constexpr int kBlocksOfCell = kCellKeys / kTileKv;
static_assert(kCellKeys % kTileKv == 0, "no block of keys is kept in part");
#endif
// Rows of cells that a tile looks at: one, each warpgroup's own, or all that its queries stand in.
#if ATTN_ROWS_DIFFER
constexpr int kCellRows = ATTN_CELL_ROWS;
static_assert(kCellRows * kCellQueries == kTileQueries && kCellRows % ATTN_KEEPERS == 0);
static_assert(kCellRows <= 8 * sizeof(Keepers));
#elif ATTN_SKIP
constexpr int kCellRows = ATTN_KEEPERS;
static_assert(kCellRows <= Visit::kKeeperBits);
#else
constexpr int kCellRows = 1;
static_assert(kCellQueries % kTileQueries == 0, "a tile's warpgroups keep the same blocks");
#endif
#if ATTN_ROWS_DIFFER && ATTN_SPARSE_BITMAP
constexpr int kRowsAtOnce = 1;  // of which the scout reads
#elif ATTN_SPARSE_BITMAP
constexpr int kRowsAtOnce = kCellRows;
#endif

// Which of the cells that a tile looks at are kept: a bit each, of up to 1024 at a time.
using Kept = unsigned[kCellRows][32];

#if !ATTN_SPARSE_BITMAP
// Entries of each list.
__device__ __forceinline__ int list_room(const Params& p) {
#if ATTN_SPARSE_MOST
  return ATTN_SPARSE_MOST;
#else
  return p.cells_kv;
#endif
}

#endif
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
      const int first = base_ / kBlocksOfCell;
      if (first < window_) mark_window(first / kWindow * kWindow);
#if ATTN_ROWS_DIFFER
      const Keepers keepers = keepers_of_lane();
      visits = visits_of(visit_of_lane(keepers), keepers);
#else
      visits = visits_of(visit_of_lane());
#endif
    }
    return visits;
  }

 private:
#if ATTN_SPARSE_BITMAP
  static constexpr int kWindow = 128;  // cells at a time
#else
  static constexpr int kWindow = 1024;  // cells at a time: for each a list is read from its begin
#endif

  __device__ __forceinline__ int block_of_lane() const {
    return base_ + 31 - static_cast<int>(threadIdx.x % 32);
  }

  __device__ __forceinline__ bool keeps(int row, int cell) const {
    return (kept_[row][cell / 32] >> cell % 32 & 1) != 0;
  }

#if ATTN_ROWS_DIFFER
  // The rows of cells that keep the lane's block: a bit each.
  __device__ __forceinline__ Keepers keepers_of_lane() const {
    const int block = block_of_lane();
    if (block < blocks_.begin || block >= blocks_.end) return 0;
    Keepers keepers = 0;
#pragma unroll 4
    for (int i = 0; i < kCellRows; ++i) {
      keepers |= Keepers{keeps(i, block / kBlocksOfCell - window_)} << i;
    }
    return keepers;
  }

  // Of that block, base_ + 31 in lane 0; none: -1.
  __device__ __forceinline__ int visit_of_lane(Keepers keepers) const {
    if (keepers == 0) return -1;
    const int word = visit_of(block_of_lane(), blocks_.is_full(block_of_lane()));
#if ATTN_SKIP
    constexpr int kOwnRows = kCellRows / ATTN_KEEPERS;
    constexpr Keepers kOwn = (Keepers{1} << kOwnRows) - 1;
    int all = 0;
#pragma unroll
    for (int i = 0; i < ATTN_KEEPERS; ++i) all |= int{(keepers >> kOwnRows * i & kOwn) != 0} << i;
    return word | all;
#else
    return word;
#endif
  }
#else
  // Of the lane's block, base_ + 31 in lane 0; none: -1.
  __device__ __forceinline__ int visit_of_lane() const {
    const int block = block_of_lane();
    int keepers = 0;
#pragma unroll
    for (int i = 0; i < kCellRows; ++i) {
      keepers |= int{keeps(i, block / kBlocksOfCell - window_)} << i;
    }
    if (keepers == 0 || block < blocks_.begin || block >= blocks_.end) return -1;
#if ATTN_SKIP
    return visit_of(block, blocks_.is_full(block)) | keepers;
#else
    return visit_of(block, blocks_.is_full(block));
#endif
  }
#endif

  // The tile's i-th row of cells; none: -1.
  __device__ __forceinline__ int64_t row(int i) const {
#if ATTN_PACKED_HEADS
    int query = tile.q_first / kGroupRows;
#else
    int query = tile.q_first;
#endif
#if ATTN_SKIP && !ATTN_ROWS_DIFFER
    query += kTileQueries / ATTN_KEEPERS * i;  // the i-th keeper's first
#if ATTN_VARLEN
    if (query >= tile.seq_q) return -1;
#else
    if (query >= p.seq_q) return -1;
#endif
#endif
    const int head = tile.h / (kHeadsQ / kCellHeads);
#if ATTN_ROWS_DIFFER
    const int cell = query / kCellQueries + i;
#elif ATTN_VARLEN
    const int cell = query / kCellQueries;
#endif
#if ATTN_ROWS_DIFFER && ATTN_VARLEN
    if (cell * kCellQueries >= tile.seq_q) return -1;
#endif
#if ATTN_CELLS_Q && (ATTN_ROWS_DIFFER || ATTN_VARLEN)
    if (cell >= p.cells_q) return -1;
#endif
#if ATTN_VARLEN && !ATTN_CELLS_Q
    return int64_t{head} * p.total_q + tile.q_begin + cell;
#elif ATTN_ROWS_DIFFER || ATTN_VARLEN
    return (int64_t{tile.b} * kCellHeads + head) * p.cells_q + cell;
#else
    return (int64_t{tile.b} * kCellHeads + head) * p.cells_q + query / kCellQueries;
#endif
  }

  // Of `window` and the cells after it what the tile's rows keep.
#if ATTN_SPARSE_BITMAP
  __device__ __forceinline__ void mark_window(int window) {
    window_ = window;
#if ATTN_ROWS_DIFFER
#pragma unroll 1
    for (int first = 0; first < kCellRows; first += kRowsAtOnce) mark_rows(first);
#else
    mark_rows(0);
#endif
    __syncwarp();
  }

  // All of these rows' loads are on their way at once.
  __device__ __forceinline__ void mark_rows(int first) {
    const int lane = threadIdx.x % 32;
    uint8_t cells[kRowsAtOnce][kWindow / 32] = {};
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int64_t of_row = row(first + i);
#pragma unroll
      for (int word = 0; word < kWindow / 32; ++word) {
        const int cell = window_ + 32 * word + lane;
        if (of_row < 0 || cell >= p.cells_kv) continue;
        cells[i][word] = __ldg(p.block_mask + of_row * p.cells_kv + cell);
      }
    }
    __syncwarp();  // all lanes have read what was there
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
#pragma unroll
      for (int word = 0; word < kWindow / 32; ++word) {
        const unsigned bits = __ballot_sync(0xffffffffu, cells[i][word] != 0);
        if (lane == 0) kept_[first + i][word] = bits;
      }
    }
  }
#else
  __device__ __forceinline__ void mark_window(int window) {
    window_ = window;
    __syncwarp();  // all lanes have read what was there
#pragma unroll
    for (int i = 0; i < kCellRows; ++i) kept_[i][threadIdx.x % 32] = 0;
    __syncwarp();
    mark_lists();
    __syncwarp();
  }

  // The order of a list does not matter, and an entry may stand twice; one that is no cell is
  // passed over.
#if ATTN_VARLEN && ATTN_CELLS_KV
  // Cells beyond p.cells_kv are none, however long the sequence is.
#endif
  __device__ __forceinline__ void mark(int row, int entry) {
#if ATTN_VARLEN && ATTN_CELLS_KV
    const bool is_here = entry >= window_ && entry < min(window_ + kWindow, p.cells_kv);
#else
    const bool is_here = entry >= window_ && entry - window_ < kWindow;
#endif
    if (is_here) atomicOr(&kept_[row][(entry - window_) / 32], 1u << entry % 32);
  }

#if ATTN_ROWS_DIFFER || (ATTN_SKIP && ATTN_VARLEN)
  // Some rows side by side, each by kLanes. The first entries are on their way with the counts.
#if ATTN_SKIP && ATTN_VARLEN && !ATTN_ROWS_DIFFER
  // One after the other they take registers that the sequence has taken.
#endif
  __device__ __forceinline__ void mark_lists() {
    constexpr int kLanes = kCellRows == 2 ? 16 : 8;
    const int room = list_room(p), lane = threadIdx.x % kLanes;
#pragma unroll 1
    for (int i = threadIdx.x % 32 / kLanes; i < kCellRows; i += 32 / kLanes) {
      const int64_t of_row = row(i);
      if (of_row < 0) break;
      const int32_t* const list = p.block_indices + of_row * room;
      int entry = lane < room ? __ldg(list + lane) : -1;
      const int count = min(__ldg(p.block_counts + of_row), room);
#pragma unroll 1
      for (int place = lane; place < count; place += kLanes) {
        mark(i, entry);
        if (place + kLanes < count) entry = __ldg(list + place + kLanes);
      }
    }
  }
#else
  // All rows' counts and first entries are on their way at once.
  __device__ __forceinline__ void mark_lists() {
    const int lane = threadIdx.x % 32, room = list_room(p);
    int counts[kCellRows] = {}, entries[kCellRows] = {};
#pragma unroll
    for (int i = 0; i < kCellRows; ++i) {
      if (row(i) < 0) continue;
      counts[i] = min(__ldg(p.block_counts + row(i)), room);
      if (lane < room) entries[i] = __ldg(p.block_indices + row(i) * room + lane);
    }
#pragma unroll
    for (int i = 0; i < kCellRows; ++i) {
#pragma unroll 1
      for (int place = lane; place < counts[i]; place += 32) {
        mark(i, place < 32 ? entries[i] : __ldg(p.block_indices + row(i) * room + place));
      }
    }
  }
#endif
#endif

  const Params& p;
  const Tile& tile;
  Kept& kept_;
  Blocks blocks_;           // that the mask needs
  int base_;                // all blocks before it are still to come
  int window_ = INT32_MAX;  // the first cell that kept_ is about
};
