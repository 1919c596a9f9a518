// Brings tiles of keys and values from global memory to LDS, in turns: while the waves multiply by
// the one, the other passes through registers.
#pragma once

struct Staged {
  Words4 keys[KeyShare::kPasses];
  ValueCopy::Words values[ValueShare::kPasses][4];
};

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

class Loader {
 public:
  static constexpr int kKeyCopies = KeyShare::kPasses;
  static constexpr int kValueLoads = 4 * ValueShare::kPasses;
  static constexpr int kValueStores = ValueCopy::kWords * ValueShare::kPasses;

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
  __device__ __forceinline__ void store_keys(int i) const {
    key_copy_.store(keys_, i, staged_.keys[i]);
  }
  __device__ __forceinline__ void load_values(const Resource& tile, int i) {
    staged_.values[i / 4][i % 4] = value_copy_.load(tile, i / 4, i % 4);
  }
  __device__ __forceinline__ void store_values(int i) const {
    constexpr int kWords = ValueCopy::kWords;
    value_copy_.store(values_, i / kWords, i % kWords, staged_.values[i / kWords]);
  }

  __device__ __forceinline__ void load_all_keys(const Resource& tile) {
#pragma unroll
    for (int i = 0; i < kKeyCopies; ++i) load_keys(tile, i);
  }
  __device__ __forceinline__ void store_all_keys() const {
#pragma unroll
    for (int i = 0; i < kKeyCopies; ++i) store_keys(i);
  }
  __device__ __forceinline__ void load_all_values(const Resource& tile) {
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
  uint8_t *keys_, *values_;
  KeyCopy key_copy_;
  ValueCopy value_copy_;
  Rows key_rows_, value_rows_;
  Staged staged_;
};
