// Keys and values of a cache in pages that hold whole tiles of keys.
#pragma once

static_assert(kPageSize % kTileKv == 0);

// A block's rows, all of one page.
struct PagedTile {
  int page;  // as the table answers
  int block, rows;
};

// A head's rows, wherever their pages lie.
class Rows {
 public:
  __device__ __forceinline__ Rows(const void* data, const PageStrides& strides, int head,
                                  int columns)
      : head_(uniform(static_cast<const uint8_t*>(data) + head * strides.head * kElementBytes)),
        page_bytes_(static_cast<uint32_t>(strides.page) * kElementBytes),
        row_bytes_(static_cast<uint32_t>(strides.seq) * kElementBytes),
        columns_(columns) {}
  // Those of a tile, once the table has answered; of a page that the cache has not, zeros.
  __device__ __forceinline__ Resource found(const PagedTile& tile, const PageTable& table) const {
    const int page = uniform(tile.page);
    const uint32_t row = static_cast<uint32_t>(tile.block * kTileKv) % kPageSize;
    const uint64_t offset =
        uint64_t{table.nearest(page)} * page_bytes_ + uint64_t{row} * row_bytes_;
    Resource rows = rows_of(head_ + offset, row_bytes_, tile.rows, columns_);
    rows.z = table.has(page) ? rows.z : 0;
    return rows;
  }

 private:
  const uint8_t* head_;
  uint32_t page_bytes_, row_bytes_;
  int columns_;
};
