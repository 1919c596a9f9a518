// The table of a cache's pages.
#pragma once

// What it says of a tile's sequence.
struct PageTable {
  const int32_t* entries;
  int keys;  // that have one

  // Of what is no key of the sequence: -1.
  __device__ __forceinline__ int page_of(int key) const {
    const bool has_entry = static_cast<uint32_t>(key) < static_cast<uint32_t>(keys);
    return has_entry ? __ldg(&entries[key / kPageSize]) : -1;
  }
};

__device__ __forceinline__ PageTable page_table_of(const Tile& tile, const Params& p) {
#if ATTN_VARLEN
  const int seq_kv = tile.seq_kv;
#else
  const int seq_kv = p.seq_kv;
#endif
  uint64_t entries = reinterpret_cast<uint64_t>(p.page_table + tile.b * p.page_table_stride);
  pin(entries);  // one address for all keys, which each would work out for itself
  return {reinterpret_cast<const int32_t*>(entries), min(seq_kv, p.page_table_keys)};
}
#if ATTN_ROW_BY_ROW

// A page of the cache; what is none: -1.
__device__ __forceinline__ int existing(int page, const Params& p) {
  return static_cast<uint32_t>(page) < static_cast<uint32_t>(p.pages) ? page : -1;
}
#endif
