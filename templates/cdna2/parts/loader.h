// Brings tiles of keys and values from global memory to LDS, in turns: while the waves multiply by
// the one, the other passes through registers.
#pragma once

struct Staged {
  Words4 keys[KeyShare::kPasses];
  ValueCopy::Words values[ValueShare::kPasses][4];
};

#if !ATTN_PAGE_SIZE
// A head's tiles of rows.
class Rows {
 public:
  __device__ __forceinline__ Rows(const void* data, const Strides& strides, int head, int columns,
                                  const Tile& tile)
      : head_(uniform(static_cast<const uint8_t*>(data) +
                      (first_key(tile, strides) + head * strides.head) * kElementBytes)),
        row_bytes_(static_cast<uint32_t>(strides.seq) * kElementBytes),
        columns_(columns) {}
  // The tile of a block; all but a sequence's last one are whole.
  __device__ __forceinline__ Resource tile(int block, int rows = kTileKv) const {
    const uint64_t offset =
        static_cast<uint64_t>(static_cast<uint32_t>(block)) * (row_bytes_ * kTileKv);
    return rows_of(head_ + offset, row_bytes_, rows, columns_);
  }

 private:
  const uint8_t* head_;
  uint32_t row_bytes_;
  int columns_;
};

#endif
class Loader {
 public:
  static constexpr int kKeyCopies = KeyShare::kPasses;
  static constexpr int kValueLoads = 4 * ValueShare::kPasses;
  static constexpr int kValueStores = ValueCopy::kWords * ValueShare::kPasses;

#if ATTN_PAGE_ROWS
  using KeyTile = PagedRows<KeyShare::kPasses>;
  using ValueTile = PagedRows<4 * ValueShare::kPasses>;

#elif ATTN_PAGE_SIZE
  using KeyTile = PagedTile;
  using ValueTile = PagedTile;

#endif
#if ATTN_PAGE_ROWS
  __device__ __forceinline__ Loader(uint8_t* keys, uint8_t* values, const Tile& tile,
                                    const Params& p)
      : keys_(keys),
        values_(values),
        table_(tile, p),
        key_rows_(p.k, p.k_strides, tile.h / (kHeadsQ / kHeadsKv)),
        value_rows_(p.v, p.v_strides, tile.h / (kHeadsQ / kHeadsKv)) {}

  // Asks for the pages of a block's rows: the answers come while others work.
  __device__ __forceinline__ KeyTile keys(int block, int rows = kTileKv) const {
    KeyTile tile{{}, block, rows};
#pragma unroll
    for (int i = 0; i < kKeyCopies; ++i) tile.pages[i] = table_.ask(block, key_copy_.row(i));
    return tile;
  }
  __device__ __forceinline__ ValueTile values(int block, int rows = kTileKv) const {
    ValueTile tile{{}, block, rows};
#pragma unroll
    for (int i = 0; i < kValueLoads; ++i) {
      tile.pages[i] = table_.ask(block, value_copy_.row(i / 4, i % 4));
    }
    return tile;
  }
  // The i-th of a thread's copies.
  __device__ __forceinline__ void load_keys(const KeyTile& tile, int i) {
    const int row = key_copy_.row(i), page = tile.pages[i];
    const bool is_row = is_inside(tile, row) && key_copy_.has_columns() && table_.has(page);
    staged_.keys[i] = key_rows_.load<Words4>(tile.block, row, page, key_copy_.byte(), is_row);
  }
  __device__ __forceinline__ void load_values(const ValueTile& tile, int i) {
    const int row = value_copy_.row(i / 4, i % 4), page = tile.pages[i];
    const bool is_row = is_inside(tile, row) && value_copy_.has_columns(i / 4) && table_.has(page);
    staged_.values[i / 4][i % 4] =
        value_rows_.load<ValueCopy::Words>(tile.block, row, page, value_copy_.byte(i / 4), is_row);
  }
#elif ATTN_PAGE_SIZE
  __device__ __forceinline__ Loader(uint8_t* keys, uint8_t* values, const Tile& tile,
                                    const Params& p)
      : keys_(keys),
        values_(values),
        key_copy_(p.k_strides.seq),
        value_copy_(p.v_strides.seq),
        table_(tile, p),
        key_rows_(p.k, p.k_strides, tile.h / (kHeadsQ / kHeadsKv), kHeadDimQk),
        value_rows_(p.v, p.v_strides, tile.h / (kHeadsQ / kHeadsKv), kHeadDimV) {}

  // Asks for the page of a block: the answer comes while others work.
  __device__ __forceinline__ PagedTile keys(int block, int rows = kTileKv) const {
    return {table_.ask(block), block, rows};
  }
  __device__ __forceinline__ PagedTile values(int block, int rows = kTileKv) const {
    return {table_.ask(block), block, rows};
  }
  // The i-th of a thread's copies.
  __device__ __forceinline__ void load_keys(const PagedTile& tile, int i) {
    staged_.keys[i] = key_copy_.load(key_rows_.found(tile, table_), i);
  }
  __device__ __forceinline__ void load_values(const PagedTile& tile, int i) {
    staged_.values[i / 4][i % 4] = value_copy_.load(value_rows_.found(tile, table_), i / 4, i % 4);
  }
#else
  __device__ __forceinline__ Loader(uint8_t* keys, uint8_t* values, const Tile& tile,
                                    const Params& p)
      : keys_(keys),
        values_(values),
        key_copy_(p.k_strides.seq),
        value_copy_(p.v_strides.seq),
        key_rows_(p.k, p.k_strides, tile.h / (kHeadsQ / kHeadsKv), kHeadDimQk, tile),
        value_rows_(p.v, p.v_strides, tile.h / (kHeadsQ / kHeadsKv), kHeadDimV, tile) {}

  __device__ __forceinline__ Resource keys(int block, int rows = kTileKv) const {
    return key_rows_.tile(block, rows);
  }
  __device__ __forceinline__ Resource values(int block, int rows = kTileKv) const {
    return value_rows_.tile(block, rows);
  }
  // The i-th of a thread's copies.
  __device__ __forceinline__ void load_keys(const Resource& tile, int i) {
    staged_.keys[i] = key_copy_.load(tile, i);
  }
#endif
  __device__ __forceinline__ void store_keys(int i) const {
    key_copy_.store(keys_, i, staged_.keys[i]);
  }
#if !ATTN_PAGE_SIZE
  __device__ __forceinline__ void load_values(const Resource& tile, int i) {
    staged_.values[i / 4][i % 4] = value_copy_.load(tile, i / 4, i % 4);
  }
#endif
  __device__ __forceinline__ void store_values(int i) const {
    constexpr int kWords = ValueCopy::kWords;
    value_copy_.store(values_, i / kWords, i % kWords, staged_.values[i / kWords]);
  }

#if ATTN_PAGE_SIZE
  __device__ __forceinline__ void load_all_keys(const KeyTile& tile) {
#else
  __device__ __forceinline__ void load_all_keys(const Resource& tile) {
#endif
#pragma unroll
    for (int i = 0; i < kKeyCopies; ++i) load_keys(tile, i);
  }
  __device__ __forceinline__ void store_all_keys() const {
#pragma unroll
    for (int i = 0; i < kKeyCopies; ++i) store_keys(i);
  }
#if ATTN_PAGE_SIZE
  __device__ __forceinline__ void load_all_values(const ValueTile& tile) {
#else
  __device__ __forceinline__ void load_all_values(const Resource& tile) {
#endif
#pragma unroll
    for (int i = 0; i < kValueLoads; ++i) load_values(tile, i);
  }
  __device__ __forceinline__ void store_all_values() const {
#pragma unroll
    for (int i = 0; i < kValueStores; ++i) store_values(i);
  }

  __device__ __forceinline__ void pin_addresses() {
    key_copy_.pin_addresses();
    value_copy_.pin_addresses();
  }
  __device__ __forceinline__ KeyReader read_keys() const { return KeyReader(keys_); }
  __device__ __forceinline__ ValueReader read_values() const { return ValueReader(values_); }

 private:
#if ATTN_PAGE_ROWS
  // All but a sequence's last tile are whole.
  template <typename Paged>
  __device__ __forceinline__ static bool is_inside(const Paged& tile, int row) {
    return tile.rows == kTileKv || row < tile.rows;
  }

#endif
  uint8_t *keys_, *values_;
  KeyCopy key_copy_;
  ValueCopy value_copy_;
#if ATTN_PAGE_SIZE
  PageTable table_;
#endif
  Rows key_rows_, value_rows_;
  Staged staged_;
};
