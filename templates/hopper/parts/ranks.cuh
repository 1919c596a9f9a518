// Block sparsity without a mask: the last tiles come in the order of how many squares they keep,
// most of them first, so that no core begins a long one when the others end. A warp of every block
// ranks them, all alike, while the others are at work.
#pragma once

// The first of them: of each block's own first tile nobody asks.
int first_ranked(int tiles, int blocks) { return max(tiles - kRanked, min(tiles, blocks)); }

// How many squares a tile's first row keeps; of a long row of a bitmap, among those looked at.
__device__ __forceinline__ int kept_squares(const Tile& tile, const Params& p) {
#if ATTN_PACKED_HEADS
  const int square_row = tile.q_first / kGroupRows / kSquare;
#else
  const int square_row = tile.q_first / kSquare;
#endif
  if (p.squares_kv == 0) return 0;  // there may be no lists either
  const int head = tile.h / (kHeadsQ / kSquareHeads);
  const int64_t row = (int64_t{tile.b} * kSquareHeads + head) * p.squares_q + square_row;
#if ATTN_SPARSE_BITMAP
  constexpr int kMostAsked = 256;
  const int stride = (p.squares_kv + kMostAsked - 1) / kMostAsked;
  const uint8_t* const squares = p.block_mask + row * p.squares_kv;
  int kept = 0;
#pragma unroll 4
  for (int square = 0; square < p.squares_kv; square += stride) kept += squares[square] != 0;
  return kept;
#else
  return min(max(p.block_counts[row], 0), p.squares_kv);
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
    const int kept =
        place < count ? min(kept_squares(tile_at(first + place, p), p), kMostKept) : -1;
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
