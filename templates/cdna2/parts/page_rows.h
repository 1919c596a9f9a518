// Keys and values of a cache whose pages hold no whole tiles of keys: rows lie anywhere.
#pragma once

// Of a block's rows those that a thread copies.
template <int kCount>
struct PagedRows {
  int pages[kCount];  // as the table answers
  int block, rows;
};

// A head's rows, wherever their pages lie: farther apart than a buffer's offsets reach.
class Rows {
 public:
  __device__ __forceinline__ Rows(const void* data, const PageStrides& strides, int head)
      : head_(reinterpret_cast<uint64_t>(data) + head * strides.head * kElementBytes),
        page_bytes_(static_cast<uint32_t>(strides.page) * kElementBytes),
        row_bytes_(static_cast<uint32_t>(strides.seq) * kElementBytes) {}

  // What begins at a byte of a tile's row; of what is no row, zeros.
  template <typename Words>
  __device__ __forceinline__ Words load(int block, int row, int page, int byte, bool is_row) const {
    static const Words4 kZeros = {};
    const uint32_t row_of_page = static_cast<uint32_t>(block * kTileKv + row) % kPageSize;
    const uint64_t place = head_ + byte + uint64_t{row_of_page} * row_bytes_ +
                           uint64_t{static_cast<uint32_t>(page)} * page_bytes_;
    using Global = const __attribute__((address_space(1))) Words;
    return *(Global*)(is_row ? place : reinterpret_cast<uint64_t>(&kZeros));
  }

 private:
  uint64_t head_;
  uint32_t page_bytes_, row_bytes_;
};
