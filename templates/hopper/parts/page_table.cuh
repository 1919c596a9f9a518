// The table of a cache's pages.
#pragma once

// What it says of a key of the tile's sequence; of what is none, or has no entry: -1.
__device__ __forceinline__ int page_of(const Tile& tile, int key, const Params& p) {
#if ATTN_VARLEN
  const int seq_kv = tile.seq_kv;
#else
  const int seq_kv = p.seq_kv;
#endif
  const bool exists = key >= 0 && key < seq_kv && key / kPageSize < p.page_table_stride;
  const int32_t* const pages = p.page_table + tile.b * p.page_table_stride;
  return exists ? __ldg(&pages[key / kPageSize]) : -1;
}
