// Keys and values of a cache in pages, wherever these lie: how a warp brings a block of them.
#pragma once

// A block comes in so many copies, each of kCopiedKeys keys of one page, by a lane each.
constexpr int kCopies = kTileKv / kCopiedKeys;
static_assert(kCopies <= 32);

// The page of the lane's copy, as the table says. None, of which TMA brings zeros: -1.
__device__ __forceinline__ int page_of(const Tile& tile, int block, const Params& p) {
#if ATTN_VARLEN
  const int seq_kv = tile.seq_kv;
#else
  const int seq_kv = p.seq_kv;
#endif
  const int lane = threadIdx.x % 32, key = block * kTileKv + lane * kCopiedKeys;
  const bool exists = lane < kCopies && key < seq_kv && key / kPageSize < p.page_table_stride;
  return exists ? __ldg(&p.page_table[tile.b * p.page_table_stride + key / kPageSize]) : -1;
}

// The lane's copy, to its place in a tile of keys or values. Its columns begin at `first_column`.
template <int kChunks, int kChunk>
__device__ __forceinline__ void load_page(const CUtensorMap& map, uint64_t& full, uint8_t* keys,
                                          int block, int page, int head, int first_column = 0) {
  const int lane = threadIdx.x % 32, row = (block * kTileKv + lane * kCopiedKeys) % kPageSize;
  if (lane >= kCopies) return;
  keys += chunk_bytes(lane * kCopiedKeys, kChunk);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    tma_load(map, full, keys + chunk * chunk_bytes(kTileKv, kChunk), first_column + chunk * kChunk,
             row, head, page, kEvictLast);
  }
}
