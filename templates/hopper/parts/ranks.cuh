// Block sparsity without a mask: the last tiles come in the order of how many cells they keep,
// most of them first, so that no core begins a long one when the others end. A warp of every block
// ranks them, all alike, while the others are at work.
#pragma once

// The first of them: of each block's own first tile nobody asks.
int first_ranked(int tiles, int blocks) { return max(tiles - kRanked, min(tiles, blocks)); }

// How many cells a tile's first row keeps; of a long row of a bitmap, among those looked at.
__device__ __forceinline__ int kept_cells(const Tile& tile, const Params& p) {
#if ATTN_PACKED_HEADS
  const int cell_row = tile.q_first / kGroupRows / kCellQueries;
#else
  const int cell_row = tile.q_first / kCellQueries;
#endif
  if (p.cells_kv == 0) return 0;  // there may be no lists either
  const int head = tile.h / (kHeadsQ / kCellHeads);
  const int64_t row = (int64_t{tile.b} * kCellHeads + head) * p.cells_q + cell_row;
#if ATTN_SPARSE_BITMAP
  constexpr int kMostAsked = 256;
  const int stride = (p.cells_kv + kMostAsked - 1) / kMostAsked;
  const uint8_t* const cells = p.block_mask + row * p.cells_kv;
  int kept = 0;
#pragma unroll 4
  for (int cell = 0; cell < p.cells_kv; cell += stride) kept += cells[cell] != 0;
  return kept;
#else
  return min(max(p.block_counts[row], 0), list_room(p));
#endif
}

__device__ __forceinline__ void rank_tiles(Shared& shared, const Params& p) {
  // Lanes rank four of them each.
  const int lane = threadIdx.x % 32, first = p.first_ranked, count = p.tiles - first;
  if (count == 0) return;
  // No two are alike: of tiles that keep as much the first comes first.
  int keys[kRanked / 32], ranks[kRanked / 32] = {};
#pragma unroll
  for (int i = 0; i < kRanked / 32; ++i) {
    const int place = 32 * i + lane;
    constexpr int kMostKept = INT32_MAX / kRanked - 1;
    const int kept = place < count ? min(kept_cells(tile_at(first + place, p), p), kMostKept) : -1;
    keys[i] = kept * kRanked - place;
  }
#pragma unroll
  for (int i = 0; i < kRanked / 32; ++i) {
#pragma unroll 1
    for (int other = 0; other < 32; ++other) {
      const int key = __shfl_sync(0xffffffffu, keys[i], other);
#pragma unroll
      for (int j = 0; j < kRanked / 32; ++j) ranks[j] += key > keys[j];
    }
  }
#pragma unroll
  for (int i = 0; i < kRanked / 32; ++i) {
    const int place = 32 * i + lane;
    if (place < count) shared.ranked[ranks[i]] = static_cast<uint8_t>(place);
  }
  __syncwarp();
  if (lane == 0) barrier_arrive(shared.ranks_there);
}

// Which tile comes at a place of the order.
__device__ __forceinline__ int ranked(Shared& shared, int index, const Params& p) {
  if (index < p.first_ranked) return index;
  barrier_wait(shared.ranks_there, 0);  // of one phase: true ever after
  return p.first_ranked + shared.ranked[index - p.first_ranked];
}
