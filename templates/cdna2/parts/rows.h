// A wave's 32 query rows against all their keys.
#pragma once

__device__ __forceinline__ void load_query(Query& query, int q_first, const Tile& tile,
                                           const Params& p) {
  const uint8_t* head = static_cast<const uint8_t*>(p.q) +
                        (tile.b * p.q_strides.batch + tile.h * p.q_strides.head) * kElementBytes;
  const int row_bytes = static_cast<int>(p.q_strides.seq) * kElementBytes;
  const Resource rows = rows_of(head + static_cast<int64_t>(q_first) * row_bytes, row_bytes,
                                min(32, p.seq_q - q_first), kHeadDimQk);
  const int row = lane_row() * row_bytes;
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    const int chunk = 2 * step + lane_half();
    const Words4 words =
        buffer_load<Words4>(rows, chunk < kHeadDimQk / 8 ? row + chunk * 16 : kOutside);
    query[2 * step] = half_of(words, 0);
    query[2 * step + 1] = half_of(words, 1);
  }
}

__device__ __forceinline__ void store_output(const Output& output, int q_first, const Tile& tile,
                                             const Params& p) {
  uint8_t* head = static_cast<uint8_t*>(p.o) +
                  (tile.b * p.o_strides.batch + tile.h * p.o_strides.head) * kElementBytes;
  const int count = min(32, p.seq_q - q_first);
  const int row_bytes = static_cast<int>(p.o_strides.seq) * kElementBytes;
  const Resource rows =
      rows_of(head + static_cast<int64_t>(q_first) * row_bytes, row_bytes, count, kHeadDimV);
  const int first = lane_row() * row_bytes + 4 * lane_half() * kElementBytes;
#pragma unroll
  for (int column = 0; column < kHeadDimV; column += 8) {
    const Block& block = output[column / 32];
    const int e = column % 32 / 2;
    const Words2 words{pack(block[e], block[e + 1]), pack(block[e + 2], block[e + 3])};
    buffer_store_8(words, rows, lane_row() < count ? first + column * kElementBytes : kOutside, 0,
                   0);
  }
}

// What a wave holds of a block of keys, and of all so far.
struct Wave {
  Row row;
  Scores products;  // raw, of the block before (in order of keys) the one that is weighed
  Weights weights;
  Output output = {};
#if ATTN_EXPONENTIAL
  Scores exponents;
  float greatest = -INFINITY;  // of the lane's exponents
  Softmax softmax;
#else
  Reductions reductions;
#endif
};

constexpr int kPairs = kTileKv / 4;  // of a lane's scores

#if ATTN_EXPONENTIAL
// Products to exponents: the pairs first .. last - 1 of the lane's.
__device__ __forceinline__ void finish(Wave& w, int block, int first, int last, const Params& p) {
  const int kv_first = block * kTileKv + 4 * lane_half();
#pragma unroll
  for (int i = first; i < last; ++i) {
    const int j = i / 8, e = i % 8 * 2, key = kv_first + key_of(j, e);
    const Pair pair{exponent_of(w.products[j][e], key, w.row, p.inputs),
                    exponent_of(w.products[j][e + 1], key + 1, w.row, p.inputs)};
    w.exponents[j][e] = pair.x;
    w.exponents[j][e + 1] = pair.y;
    w.greatest = fmaxf(fmaxf(pair.x, pair.y), w.greatest);
    pin(w.greatest);
  }
}

// Takes the pairs out that do not exist.
__device__ __forceinline__ void cut(Wave& w, int block, const Params& p) {
  const int kv_first = block * kTileKv + 4 * lane_half();
  Row row = w.row;
  pin(row.q_idx);  // keeps what follows from it out of the loop's registers
  row.q_pos = row.q_idx + row.seq_kv - row.seq_q;
#if ATTN_INTERVAL_MASK
  const KeyRange range = key_range(row.q_idx, row.q_idx, row, p.inputs);
  // Pinned, keys compare with numbers that fit an instruction.
  int end = range.end - kv_first;
  pin(end);
#if !ATTN_KEYS_FROM_FIRST
  int begin = range.begin - kv_first;
  pin(begin);
#endif
#endif
  w.greatest = -INFINITY;
#pragma unroll
  for (int j = 0; j < kKeyBlocks; ++j) {
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      const int key = key_of(j, e);
#if ATTN_INTERVAL_MASK
#if ATTN_KEYS_FROM_FIRST
      const bool exists = key < end;
#else
      const bool exists = key >= begin && key < end;
#endif
#else
      const bool exists = kv_first + key < row.seq_kv && pair_exists(row, kv_first + key, p.inputs);
#endif
      w.exponents[j][e] = exists ? w.exponents[j][e] : -INFINITY;
      w.greatest = fmaxf(w.greatest, w.exponents[j][e]);
      if (e % 4 == 3) keep_order();  // else comparisons fill all scalar registers
    }
  }
}

// A new maximum, if a row's scores ask for one.
__device__ __forceinline__ void adopt(Wave& w, const Params& p) {
  if (any_lane(w.greatest > w.softmax.limit)) {
    const float factor = w.softmax.raise(w.greatest, w.row, p.inputs);
#pragma unroll
    for (int j = 0; j < kOutputBlocks; ++j) w.output[j] *= factor;
  }
  w.greatest = -INFINITY;
}

// Exponents to weights, in half steps: first the exponentials of a pair, then its sum and packing.
__device__ __forceinline__ void weigh(Wave& w, int first, int last) {
#pragma unroll
  for (int half = first; half < last; ++half) {
    const int i = half / 2, j = i / 8, e = i % 8 * 2;
    if (half % 2 == 0) {
      const Pair x = Pair{w.exponents[j][e], w.exponents[j][e + 1]} - w.softmax.shift;
      w.exponents[j][e] = exp2_approx(x.x);
      w.exponents[j][e + 1] = exp2_approx(x.y);
    } else {
      const Pair weight{w.exponents[j][e], w.exponents[j][e + 1]};
      w.softmax.sum[i % 2] += weight;
      pin(w.softmax.sum[i % 2]);
      w.weights[i / 2][i % 2] = pack_weights(weight.x, weight.y);
    }
  }
}
constexpr int kWeighSteps = 2 * kPairs;

// The block's scores, before its weights can be computed.
__device__ __forceinline__ void finish_block(Wave& w, int block, bool full, const Params& p) {
  if (!full) cut(w, block, p);
  adopt(w, p);
}
#else
__device__ __forceinline__ void weigh_block(Wave& w, int block, bool full, const Params& p) {
  const int kv_first = block * kTileKv + 4 * lane_half();
#if !ATTN_ROW_FREE
  const float factor =
#endif
      full ? absorb<false>(w.products, kv_first, w.row, p.inputs, w.reductions)
           : absorb<true>(w.products, kv_first, w.row, p.inputs, w.reductions);
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int j = i / 8, e = i % 8 * 2;
    w.weights[i / 2][i % 2] = pack_weights(w.products[j][e], w.products[j][e + 1]);
  }
#if !ATTN_ROW_FREE
  if (any_lane(factor != 1)) {
#pragma unroll
    for (int j = 0; j < kOutputBlocks; ++j) w.output[j] *= factor;
  }
#endif
}
#endif

// All blocks of keys, the last one first. The two products of a block lie in different rounds: one
// multiplies the keys of the block before beside this block's weights, then this block's values.
__device__ __forceinline__ void visit(Wave& w, Loader& loader, const Blocks& blocks, int q_first,
                                      const Tile& tile, const Params& p) {
  Query query;
  Fragments fragments;
  const int begin = blocks.begin;
  int block = blocks.end - 1;

  const auto nothing = [](int) __attribute__((always_inline)){};
  const auto query_at = [&](int k) __attribute__((always_inline)) { return query[k]; };
  const auto weights_at = [&](int k) __attribute__((always_inline)) {
    return __builtin_bit_cast(Operand, w.weights[k]);
  };
  const auto meet_for_keys = [&](Fragments & next) __attribute__((always_inline)) {
    sync_block();
    fetch(next, kKeyProducts, 0, loader.read_keys());
  };
  const auto meet_for_values = [&](Fragments & next) __attribute__((always_inline)) {
    sync_block();
    fetch(next, kValueProducts, 0, loader.read_values());
  };

  const int last_rows = min(kTileKv, p.seq_kv - block * kTileKv);
  loader.load_all_keys(loader.keys(block, last_rows));
  load_query(query, q_first, tile, p);
  loader.store_all_keys();
  // No rows if there is no block before. (A comparison here would merge with the loop's.)
  loader.load_all_keys(loader.keys(max(block - 1, begin), min(block - begin, 1) * kTileKv));
  loader.load_all_values(loader.values(block, last_rows));
  meet_for_keys(fragments);
  multiply_all<true, kStepsQk>(
      w.products, fragments, loader.read_keys(), query_at,
      nothing, [&](Fragments & next) __attribute__((always_inline)) {
        sync_block();  // all have read the keys
        loader.store_all_keys();
        meet_for_keys(next);
      });
#if ATTN_EXPONENTIAL
  finish(w, block, 0, kPairs, p);
  finish_block(w, block, blocks.is_full(block), p);
#endif

#pragma unroll 1
  for (; block > begin; --block) {
    loader.pin_addresses();
    const Resource next_keys = loader.keys(max(block - 2, begin));
    const Resource next_values = loader.values(block - 1);
#if !ATTN_EXPONENTIAL
    weigh_block(w, block, blocks.is_full(block), p);
#endif
    multiply_all<true, kStepsQk>(
        w.products, fragments, loader.read_keys(), query_at,
        [&](int i) __attribute__((always_inline)) {
          constexpr Slices kCopies{Loader::kValueStores + Loader::kKeyCopies,
                                   kKeyProducts.before_last()};
#pragma unroll
          for (int k = kCopies.first(i); k < kCopies.first(i + 1); ++k) {
            if (k < Loader::kValueStores) {
              loader.store_values(k);
            } else {
              loader.load_keys(next_keys, k - Loader::kValueStores);
            }
          }
#if ATTN_EXPONENTIAL
          constexpr Slices kSteps{kWeighSteps, kKeyProducts.products()};
          weigh(w, kSteps.first(i), kSteps.first(i + 1));
#endif
        },
        meet_for_values);
    multiply_all<false, kStepsKv>(
        w.output, fragments, loader.read_values(), weights_at,
        [&](int i) __attribute__((always_inline)) {
          constexpr Slices kCopies{Loader::kKeyCopies + Loader::kValueLoads,
                                   kValueProducts.before_last()};
#pragma unroll
          for (int k = kCopies.first(i); k < kCopies.first(i + 1); ++k) {
            if (k < Loader::kKeyCopies) {
              loader.store_keys(k);
            } else {
              loader.load_values(next_values, k - Loader::kKeyCopies);
            }
          }
#if ATTN_EXPONENTIAL
          constexpr Slices kSteps{kPairs, kValueProducts.products()};
          finish(w, block - 1, kSteps.first(i), kSteps.first(i + 1), p);
#endif
        },
        meet_for_keys);
#if ATTN_EXPONENTIAL
    finish_block(w, block - 1, blocks.is_full(block - 1), p);
#endif
  }

#if ATTN_EXPONENTIAL
  weigh(w, 0, kWeighSteps);
#else
  weigh_block(w, block, blocks.is_full(block), p);
#endif
  loader.store_all_values();
  meet_for_values(fragments);
  multiply_all<false, kStepsKv>(w.output, fragments, loader.read_values(), weights_at, nothing,
                                [](Fragments&) __attribute__((always_inline)){});
}

__device__ __forceinline__ void attend(uint8_t* keys, uint8_t* values, const Params& p) {
  const Tile tile = tile_at(blockIdx.x, p);
  const Blocks blocks = blocks_of(tile, p);
  const int q_first = tile.q_first + 32 * uniform(threadIdx.x / 64);
  // Rows beyond the last one repeat it, so that inputs are read in range; they are not stored.
  const int q_idx = min(q_first + lane_row(), p.seq_q - 1);
  Wave wave;
  wave.row = {tile.b,  tile.h,  tile.h / (kHeadsQ / kHeadsKv), q_idx, q_idx + p.seq_kv - p.seq_q,
              p.seq_q, p.seq_kv};
  if (blocks.end > blocks.begin) {
    Loader loader(keys, values, tile, p);
    visit(wave, loader, blocks, q_first, tile, p);
  }

#if ATTN_EXPONENTIAL
  const Reductions reductions = wave.softmax.reductions();
  constexpr float kUnit = kWeightUnit;
#else
  const Reductions& reductions = wave.reductions;
  constexpr float kUnit = 1;
#endif
  const RowValues result = row_values(complete(reductions), wave.row, p.inputs);
#pragma unroll
  for (int j = 0; j < kOutputBlocks; ++j) {
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      wave.output[j][e] = output_of(wave.output[j][e] * kUnit, result, wave.row, p.inputs);
    }
  }
  if (lane_half() == 0 && q_first + lane_row() < p.seq_q) {
    store_saves(p.saves, result, wave.row, p.inputs);
  }
  store_output(wave.output, q_first, tile, p);
}
