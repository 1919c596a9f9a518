// The table of a cache's pages.
#pragma once

// What it says of a tile's sequence. Who asks has the answer when something reads it.
class PageTable {
 public:
  __device__ __forceinline__ PageTable(const Tile& tile, const Params& p)
      : entries_(uniform(p.page_table + tile.b * p.page_table_stride)),
        count_((min(tile.seq_kv, p.page_table_keys) + kPageSize - 1) / kPageSize),
        pages_(p.pages) {}

#if ATTN_PAGE_ROWS
  // The page of a block's row. Of rows behind the sequence's last page nothing is read.
  __device__ __forceinline__ int ask(int block, int row) const {
    const uint32_t first_key = block * kTileKv;
    const int first = static_cast<int>(first_key / kPageSize);
    const uint32_t entry = (first_key % kPageSize + row) / kPageSize;
    return load(entries_ + first, min(count_ - first, kTileKv), static_cast<int>(entry));
  }
#else
  // The page of a block.
  __device__ __forceinline__ int ask(int block) const {
    return load(entries_, count_, block / (kPageSize / kTileKv));
  }
#endif
  // Whether the cache has this page.
  __device__ __forceinline__ bool has(int page) const {
    return static_cast<uint32_t>(page) < pages_;
  }
#if !ATTN_PAGE_ROWS
  // The page itself, or that behind the last one, whose address is one at least.
  __device__ __forceinline__ uint32_t nearest(int page) const {
    return min(static_cast<uint32_t>(page), pages_);
  }
#endif

 private:
  // One of so many entries.
  __device__ __forceinline__ static int load(const int32_t* entries, int count, int i) {
    constexpr int kBytes = sizeof(int32_t);
    const Resource rows =
        rows_of(reinterpret_cast<const uint8_t*>(entries), kBytes, count, kBytes / kElementBytes);
    return buffer_load_4(rows, i * kBytes, 0, 0);
  }

  const int32_t* entries_;
  int count_;
  uint32_t pages_;
};
