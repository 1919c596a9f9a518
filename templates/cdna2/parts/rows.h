// A wave's 32 query rows against all their keys.
#pragma once

// The slices of `count` things that piece `i` of `pieces` takes: [first(i), first(i + 1)).
struct Slices {
  int count, pieces;
  __device__ constexpr int first(int i) const { return i * count / pieces; }
};

// Half of the block's keys and values on their way from global memory to LDS.
struct Staged {
  Words4 keys[KeyShare::kPasses];
  ValueCopy::Words values[ValueShare::kPasses][4];
};

class Loader {
 public:
  __device__ __forceinline__ Loader(uint8_t* keys, uint8_t* values, const Tile& tile,
                                    const Params& p)
      : keys_(keys),
        values_(values),
        key_copy_(p.k_strides.seq),
        value_copy_(p.v_strides.seq),
        key_stride_(p.k_strides.seq),
        value_stride_(p.v_strides.seq),
        seq_kv_(p.seq_kv) {
    const int head = tile.h / (kHeadsQ / kHeadsKv);
    key_head_ = static_cast<const uint8_t*>(p.k) +
                (tile.b * p.k_strides.batch + head * p.k_strides.head) * kElementBytes;
    value_head_ = static_cast<const uint8_t*>(p.v) +
                  (tile.b * p.v_strides.batch + head * p.v_strides.head) * kElementBytes;
  }

  // Blocks before `begin` are not there.
  __device__ __forceinline__ Resource keys(int block, int begin) const {
    return rows_of(key_head_, key_stride_, block * kTileKv, rows(block, begin), kHeadDimQk);
  }
  __device__ __forceinline__ Resource values(int block, int begin) const {
    return rows_of(value_head_, value_stride_, block * kTileKv, rows(block, begin), kHeadDimV);
  }

  __device__ __forceinline__ void load_keys(Staged& staged, const Resource& tile, int i) const {
    staged.keys[i] = key_copy_.load(tile, i);
  }
  __device__ __forceinline__ void store_keys(const Staged& staged, int i) const {
    key_copy_.store(keys_, i, staged.keys[i]);
  }
  // i: pass and key
  __device__ __forceinline__ void load_values(Staged& staged, const Resource& tile, int i) const {
    staged.values[i / 4][i % 4] = value_copy_.load(tile, i / 4, i % 4);
  }
  // i: pass and word
  __device__ __forceinline__ void store_values(const Staged& staged, int i) const {
    constexpr int kWords = ValueCopy::kWords;
    value_copy_.store(values_, i / kWords, i % kWords, staged.values[i / kWords]);
  }
  __device__ __forceinline__ void pin_addresses() {
    key_copy_.pin_addresses();
    value_copy_.pin_addresses();
  }
  static constexpr int kKeyLoads = KeyShare::kPasses;
  static constexpr int kValueLoads = 4 * ValueShare::kPasses;
  static constexpr int kValueStores = ValueCopy::kWords * ValueShare::kPasses;

 private:
  __device__ __forceinline__ int rows(int block, int begin) const {
    return block < begin ? 0 : min(kTileKv, seq_kv_ - block * kTileKv);
  }

  uint8_t *keys_, *values_;
  KeyCopy key_copy_;
  ValueCopy value_copy_;
  const uint8_t *key_head_, *value_head_;
  int64_t key_stride_, value_stride_;
  int seq_kv_;
};

__device__ __forceinline__ void load_query(Query& query, int q_first, const Tile& tile,
                                           const Params& p) {
  const uint8_t* head = static_cast<const uint8_t*>(p.q) +
                        (tile.b * p.q_strides.batch + tile.h * p.q_strides.head) * kElementBytes;
  const Resource rows =
      rows_of(head, p.q_strides.seq, q_first, min(32, p.seq_q - q_first), kHeadDimQk);
  const int row = lane_row() * static_cast<int>(p.q_strides.seq) * kElementBytes;
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    const int chunk = 2 * step + lane_half();
    const Words4 words =
        buffer_load_16(rows, chunk < kHeadDimQk / 8 ? row + chunk * 16 : kOutside, 0, 0);
    query[2 * step] = half_of(words, 0);
    query[2 * step + 1] = half_of(words, 1);
  }
}

__device__ __forceinline__ void store_output(const Output& output, int q_first, const Tile& tile,
                                             const Params& p) {
  uint8_t* head = static_cast<uint8_t*>(p.o) +
                  (tile.b * p.o_strides.batch + tile.h * p.o_strides.head) * kElementBytes;
  const int count = min(32, p.seq_q - q_first);
  const Resource rows = rows_of(head, p.o_strides.seq, q_first, count, kHeadDimV);
  const int row =
      (lane_row() * static_cast<int>(p.o_strides.seq) + 4 * lane_half()) * kElementBytes;
  const int first = lane_row() < count ? row : kOutside - kHeadDimV * kElementBytes;
#pragma unroll
  for (int column = 0; column < kHeadDimV; column += 8) {
    const Block& block = output[column / 32];
    const int e = column % 32 / 2;
    const Words2 words{pack(block[e], block[e + 1]), pack(block[e + 2], block[e + 3])};
    buffer_store_8(words, rows, first + column * kElementBytes, 0, 0);
  }
}

__device__ __forceinline__ void attend(uint8_t* keys, uint8_t* values, const Params& p) {
  const Tile tile = tile_at(blockIdx.x, p);
  const Blocks blocks = blocks_of(tile, p);
  const int wave = uniform(threadIdx.x / 64);
  const int q_first = tile.q_first + 32 * wave;
  // Rows beyond the last one repeat it, so that inputs are read in range; they are not stored.
  const int q_idx = min(q_first + lane_row(), p.seq_q - 1);
  const Row row{tile.b,  tile.h,  tile.h / (kHeadsQ / kHeadsKv), q_idx, q_idx + p.seq_kv - p.seq_q,
                p.seq_q, p.seq_kv};
  Loader loader(keys, values, tile, p);

  Query query;
  Output output = {};
  Softmax softmax;

  if (blocks.end > blocks.begin) {
    Staged staged;
    Scores products;   // of the next block, raw
    Scores exponents;  // of this block
    Weights weights;
    float greatest = -INFINITY;

    const auto none = [](int) __attribute__((always_inline)){};
    const auto finish = [&](int block, int first, int last) __attribute__((always_inline)) {
      const int kv_first = block * kTileKv + 4 * lane_half();
#pragma unroll
      for (int i = first; i < last; ++i) {
        const int j = i / 8, e = i % 8 * 2;
        const int key = kv_first + key_of(j, e);
        const Pair pair{exponent_of(products[j][e], key, row, p.inputs),
                        exponent_of(products[j][e + 1], key + 1, row, p.inputs)};
        exponents[j][e] = pair.x;
        exponents[j][e + 1] = pair.y;
        greatest = fmaxf(fmaxf(pair.x, pair.y), greatest);
        pin(greatest);
      }
    };
    // Pairs that do not exist get a weight of 0.
    const auto cut = [&](int block) __attribute__((always_inline)) {
      const int kv_first = block * kTileKv + 4 * lane_half();
#if ATTN_INTERVAL_MASK
      const KeyRange range = key_range(row.q_idx, row.q_idx, row, p.inputs);
      const int begin = range.begin - kv_first, end = range.end - kv_first;
#endif
      greatest = -INFINITY;
#pragma unroll
      for (int j = 0; j < kKeyBlocks; ++j) {
#pragma unroll
        for (int e = 0; e < 16; ++e) {
          const int key = key_of(j, e);
#if ATTN_INTERVAL_MASK
          const bool exists = key >= begin && key < end;
#else
          const bool exists =
              kv_first + key < row.seq_kv && pair_exists(row, kv_first + key, p.inputs);
#endif
          exponents[j][e] = exists ? exponents[j][e] : -INFINITY;
          greatest = fmaxf(greatest, exponents[j][e]);
        }
      }
    };
    const auto weigh = [&](int first, int last) __attribute__((always_inline)) {
#pragma unroll
      for (int i = first; i < last; ++i) {
        const int j = i / 8, e = i % 8 * 2;
        const Pair x = Pair{exponents[j][e], exponents[j][e + 1]} - softmax.shift;
        const Pair weight{exp2_approx(x.x), exp2_approx(x.y)};
        softmax.sum[i % 2] += weight;
        pin(softmax.sum[i % 2]);
        weights[i / 2][i % 2] = pack_weights(weight.x, weight.y);
      }
    };
    const auto adopt = [&]() __attribute__((always_inline)) {
      if (any_lane(greatest > softmax.limit)) {
        const float factor = softmax.raise(greatest, row, p.inputs);
#pragma unroll
        for (int j = 0; j < kOutputBlocks; ++j) output[j] *= factor;
      }
      greatest = -INFINITY;
    };
    constexpr int kPairs = kTileKv / 4;

    const int begin = blocks.begin;
    int block = blocks.end - 1;
    {
      const Resource tile = loader.keys(block, begin);
#pragma unroll
      for (int i = 0; i < Loader::kKeyLoads; ++i) loader.load_keys(staged, tile, i);
    }
    load_query(query, q_first, tile, p);
#pragma unroll
    for (int i = 0; i < Loader::kKeyLoads; ++i) loader.store_keys(staged, i);
    {
      const Resource tile = loader.keys(block - 1, begin);
#pragma unroll
      for (int i = 0; i < Loader::kKeyLoads; ++i) loader.load_keys(staged, tile, i);
      const Resource values = loader.values(block, begin);
#pragma unroll
      for (int i = 0; i < Loader::kValueLoads; ++i) loader.load_values(staged, values, i);
    }
    sync_block();
    multiply_keys(products, keys, query, none);
    finish(block, 0, kPairs);
    if (!blocks.is_full(block)) cut(block);
    adopt();
    sync_block();
#pragma unroll
    for (int i = 0; i < Loader::kKeyLoads; ++i) loader.store_keys(staged, i);

#pragma unroll 1
    for (; block > begin; --block) {
      loader.pin_addresses();
      sync_block();
      const Resource next_keys = loader.keys(block - 2, begin);
      multiply_keys(
          products, keys, query, [&](int i) __attribute__((always_inline)) {
            const Slices copies{Loader::kValueStores + Loader::kKeyLoads, kProductsQk};
#pragma unroll
            for (int k = copies.first(i); k < copies.first(i + 1); ++k) {
              if (k < Loader::kValueStores) {
                loader.store_values(staged, k);
              } else {
                loader.load_keys(staged, next_keys, k - Loader::kValueStores);
              }
            }
            const Slices pairs{kPairs, kProductsQk};
            weigh(pairs.first(i), pairs.first(i + 1));
          });
      sync_block();
      const Resource next_values = loader.values(block - 1, begin);
      multiply_values(
          output, values, weights, [&](int i) __attribute__((always_inline)) {
            const Slices copies{Loader::kKeyLoads + Loader::kValueLoads, kProductsKv};
#pragma unroll
            for (int k = copies.first(i); k < copies.first(i + 1); ++k) {
              if (k < Loader::kKeyLoads) {
                loader.store_keys(staged, k);
              } else {
                loader.load_values(staged, next_values, k - Loader::kKeyLoads);
              }
            }
            const Slices pairs{kPairs, kProductsKv};
            finish(block - 1, pairs.first(i), pairs.first(i + 1));
          });
      if (!blocks.is_full(block - 1)) cut(block - 1);
      adopt();
    }
    sync_block();
#pragma unroll
    for (int i = 0; i < Loader::kValueStores; ++i) loader.store_values(staged, i);
    weigh(0, kPairs);
    sync_block();
    multiply_values(output, values, weights, none);
  }

  const RowValues row_result = row_values(complete(softmax.reductions()), row, p.inputs);
#pragma unroll
  for (int j = 0; j < kOutputBlocks; ++j) {
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      output[j][e] = output_of(output[j][e] * exp2_approx(-kWeightBits), row_result, row, p.inputs);
    }
  }
  if (lane_half() == 0 && q_first + lane_row() < p.seq_q) {
    store_saves(p.saves, row_result, row, p.inputs);
  }
  store_output(output, q_first, tile, p);
}
