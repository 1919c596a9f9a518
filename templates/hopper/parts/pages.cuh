// Keys and values of a cache in pages, wherever these lie: how a warp brings a block of them.
#pragma once

// A block comes in so many copies, each of kCopiedKeys keys of one page, by a lane each.
constexpr int kCopies = kTileKv / kCopiedKeys;
static_assert(kCopies <= 32);

// What the lane brings.
struct PageCopy {
  int page;  // none, of which TMA brings zeros: -1
  int row;   // its first, in the page
};

#if ATTN_GATHER
// Of two blocks, one below the other; where there is no second one: -1.
__device__ __forceinline__ PageCopy page_copy(const Tile& tile, int block, int second,
                                              const Params& p) {
  const int place = threadIdx.x % 32 * kCopiedKeys, half = place / kBlockKv;
  const bool any = place < kTileKv && (half == 0 || second >= 0);
  const int key = (half == 0 ? block : second) * kBlockKv + place % kBlockKv;
#else
// Of a block, as the table of its sequence's pages says.
__device__ __forceinline__ PageCopy page_copy(const Tile& tile, int block, const Params& p) {
  const int place = threadIdx.x % 32 * kCopiedKeys, key = block * kTileKv + place;
  const bool any = place < kTileKv;
#endif
  return {any ? page_table_of(tile, p).page_of(key) : -1, key % kPageSize};
}

// The lane's copy, to its place in a tile of keys or values. Its columns begin at `first_column`.
template <int kChunks, int kChunk>
__device__ __forceinline__ void load_page(const CUtensorMap& map, uint64_t& full, uint8_t* tile,
                                          const PageCopy& copy, int head, int first_column = 0) {
  const int lane = threadIdx.x % 32;
  if (lane >= kCopies) return;
  tile += chunk_bytes(lane * kCopiedKeys, kChunk);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    tma_load(map, full, tile + chunk * chunk_bytes(kTileKv, kChunk), first_column + chunk * kChunk,
             copy.row, head, copy.page, kEvictLast);
  }
}
