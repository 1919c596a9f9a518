// Keys and values of a cache in pages, wherever these lie: what the producer loads of them.
#pragma once

// A block of keys comes in so many copies, each of kCopiedKeys keys of one page, by a lane each.
constexpr int kCopies = kTileKv / kCopiedKeys;
static_assert(kCopies <= 32);

// The page of the lane's copy, as the table says. None, of which TMA brings zeros: -1.
__device__ __forceinline__ int Producer::page_of(int block) const {
#if ATTN_VARLEN
  const int seq_kv = tile.seq_kv;
#else
  const int seq_kv = p.seq_kv;
#endif
  const int lane = threadIdx.x % 32, key = block * kTileKv + lane * kCopiedKeys;
  const bool exists = lane < kCopies && key < seq_kv && key / kPageSize < p.page_table_stride;
  return exists ? __ldg(&p.page_table[tile.b * p.page_table_stride + key / kPageSize]) : -1;
}

template <int kChunks, int kChunk>
__device__ __forceinline__ void Producer::load_page(const CUtensorMap& map, uint64_t& full,
#if ATTN_VALUE_PARTS > 1
                                                    uint8_t* keys, int block, int page, int head,
                                                    int first_column) {
#else
                                                    uint8_t* keys, int block, int page, int head) {
#endif
  const int lane = threadIdx.x % 32, row = (block * kTileKv + lane * kCopiedKeys) % kPageSize;
  if (lane >= kCopies) return;
  load_rows<kChunks, kChunk>(map, full, keys + lane * chunk_bytes(kCopiedKeys, kChunk), kTileKv,
#if ATTN_VALUE_PARTS > 1
                             row, head, page, kEvictLast, first_column);
#else
                             row, head, page, kEvictLast);
#endif
}
