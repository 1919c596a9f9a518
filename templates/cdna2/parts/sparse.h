// Block sparsity: which blocks of keys a tile visits, from the last to the first. The caller keeps
// cells of kCellQueries queries and kCellKeys keys; a tile's rows are of one row of cells.
#pragma once

constexpr int kCellQueries = ATTN_SPARSE_QUERIES;
constexpr int kCellKeys = ATTN_SPARSE_SIZE;
constexpr int kCellHeads = ATTN_SPARSE_HEADS;  // that keep cells of their own
constexpr int kBlocksOfCell = kCellKeys / kTileKv;
#if ATTN_PACKED_HEADS
constexpr int kTileQueries = kTileQ / kGroupRows;
#else
constexpr int kTileQueries = kTileQ;
#endif
static_assert(kCellKeys % kTileKv == 0 && kCellQueries % kTileQueries == 0);

// Every wave finds the same for itself.
class Kept {
 public:
  __device__ __forceinline__ Kept(const Tile& tile, const Blocks& blocks, const Params& p)
      : p_(p), begin_(blocks.begin) {
    const int head = tile.h / (kHeadsQ / kCellHeads);
#if ATTN_PACKED_HEADS
    const int cell = tile.q_first / kGroupRows / kCellQueries;
#else
    const int cell = tile.q_first / kCellQueries;
#endif
    row_ = (int64_t{tile.b} * kCellHeads + head) * p.cells_q + cell;
  }

  // The last one before `block` that is kept and that the mask needs; none: -1.
  __device__ __forceinline__ int before(int block) {
    const int last = block - 1;
    for (int cell = last / kBlocksOfCell; last >= begin_ && cell >= begin_ / kBlocksOfCell;
         cell = first_ - 1) {
      if (cell < first_) read(cell);
      const uint64_t bits = bits_ << (63 - cell % 64);  // of cells up to this one
      if (bits == 0) continue;
      const int kept = cell - __builtin_clzll(bits);
      const int found = min(last, kept * kBlocksOfCell + kBlocksOfCell - 1);
      return found >= begin_ ? found : -1;
    }
    return -1;
  }

 private:
  // The 64 cells among which this one is: a bit each.
  __device__ __forceinline__ void read(int cell) {
    first_ = cell / 64 * 64;
#if ATTN_SPARSE_BITMAP
    const int own = first_ + lane();
    bits_ = __ballot(own < p_.cells_kv && p_.block_mask[row_ * p_.cells_kv + own] != 0);
#else
#if ATTN_SPARSE_MOST
    constexpr int kRoom = ATTN_SPARSE_MOST;
    const int count = uniform(max(0, min(p_.block_counts[row_], kRoom)));
    const int32_t* const list = p_.block_indices + row_ * kRoom;
#else
    const int count = uniform(max(0, min(p_.block_counts[row_], p_.cells_kv)));
    const int32_t* const list = p_.block_indices + row_ * p_.cells_kv;
#endif
    bits_ = 0;
#pragma unroll 1
    for (int begin = 0; begin < count; begin += 64) {
      const int i = begin + lane();
      const int entry = i < count ? list[i] : -1;
      const int place = entry >= first_ && entry < p_.cells_kv ? entry - first_ : 64;
#pragma unroll 1
      for (uint64_t left = __ballot(place < 64); left != 0; left &= left - 1) {
        bits_ |= uint64_t{1} << __builtin_amdgcn_readlane(place, __builtin_ctzll(left));
      }
    }
#endif
  }
  __device__ __forceinline__ static int lane() { return threadIdx.x % 64; }

  const Params& p_;
  const int begin_;
  int64_t row_;  // of cells, among all
  int first_ = INT32_MAX;
  uint64_t bits_ = 0;
};
