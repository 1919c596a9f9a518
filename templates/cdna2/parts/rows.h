// A wave's 32 query rows against all their keys.
#pragma once

#if ATTN_PACKED_HEADS
// Whether the output has the row of this index among the group's.
__device__ __forceinline__ bool is_stored(int index, const Tile& tile) {
#if ATTN_PADDED_HEADS && ATTN_HEAD_PARTS > 1
  return index < tile.seq_q * kGroupRows && index % kGroupRows < heads_from(tile.h);
#elif ATTN_PADDED_HEADS
  return index < tile.seq_q * kGroupRows && index % kGroupRows < kHeadsQ / kHeadsKv;
#else
  return index < tile.seq_q * kGroupRows;
#endif
}

// Where the lane's row begins. Those of several heads may lie too far apart for a buffer's offsets.
__device__ __forceinline__ int64_t place_of(const Row& row, const Tile& tile,
                                            const Strides& strides) {
  return (first_query(tile, strides) + row.h * strides.head + row.q_idx * strides.seq) *
         kElementBytes;
}

__device__ __forceinline__ void load_query(Query& query, int q_first, const Tile& tile,
                                           const Params& p) {
  const Row row = group_row_at(tile, q_first + lane_row());
  const uint8_t* first = static_cast<const uint8_t*>(p.q) + place_of(row, tile, p.q_strides);
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    const int chunk = 2 * step + lane_half();
    Words4 words = {};
    if (chunk < kHeadDimQk / 8) words = *reinterpret_cast<const Words4*>(first + chunk * 16);
    query[2 * step] = half_of(words, 0);
    query[2 * step + 1] = half_of(words, 1);
  }
}

__device__ __forceinline__ void store_output(const Output& output, int q_first, const Tile& tile,
                                             const Params& p) {
  const int index = q_first + lane_row();
  if (!is_stored(index, tile)) return;
  uint8_t* first = static_cast<uint8_t*>(p.o) +
                   place_of(group_row_at(tile, index), tile, p.o_strides) +
                   4 * lane_half() * kElementBytes;
#pragma unroll
  for (int column = 0; column < kHeadDimV; column += 8) {
    const Block& block = output[column / 32];
    const int e = column % 32 / 2;
    *reinterpret_cast<Words2*>(first + column * kElementBytes) =
        Words2{pack(block[e], block[e + 1]), pack(block[e + 2], block[e + 3])};
  }
}
#else
__device__ __forceinline__ void load_query(Query& query, int q_first, const Tile& tile,
                                           const Params& p) {
  const uint8_t* head =
      static_cast<const uint8_t*>(p.q) +
      (first_query(tile, p.q_strides) + tile.h * p.q_strides.head) * kElementBytes;
  const int count = min(32, tile.seq_q - q_first);
  const int row_bytes = static_cast<int>(p.q_strides.seq) * kElementBytes;
  const Resource rows =
      rows_of(head + static_cast<int64_t>(q_first) * row_bytes, row_bytes, count, kHeadDimQk);
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
                  (first_query(tile, p.o_strides) + tile.h * p.o_strides.head) * kElementBytes;
  const int count = min(32, tile.seq_q - q_first);
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
#endif

// All have written what is read next, and have read what is written next.
__device__ __forceinline__ void meet_for_keys(const Loader& loader, Fragments& next) {
  sync_block();
  fetch(next, kKeyProducts, 0, loader.read_keys());
}
__device__ __forceinline__ void meet_for_values(const Loader& loader, Fragments& next) {
  sync_block();
  fetch(next, kValueProducts, 0, loader.read_values());
}

__device__ __forceinline__ Operand weights_at(const Wave& w, int k) {
  return __builtin_bit_cast(Operand, w.weights[k]);
}

// A round multiplies the keys of the block before `block` beside this block's weights, then this
// block's values beside the scores of the block before.
#if ATTN_CUT_LAST || ATTN_CUT_FIRST
// If kCut, limits may cut these.
template <bool kCut = false>
#endif
#if ATTN_SPARSE
// `next_block`: the one before it that is kept; `block_after`: the one before that, or any.
__device__ __forceinline__ void visit_block(Wave& w, const Query& query, Fragments& fragments,
                                            Loader& loader, int block, int next_block,
                                            int block_after, const Blocks& blocks,
                                            const Params& p) {
#else
__device__ __forceinline__ void visit_block(Wave& w, const Query& query, Fragments& fragments,
                                            Loader& loader, int block, const Blocks& blocks,
                                            const Params& p) {
  const int next_block = block - 1, block_after = max(block - 2, blocks.begin);
#endif
  loader.pin_addresses();
#if ATTN_PAGE_SIZE
  const Loader::KeyTile next_keys = loader.keys(block_after);
#else
  const Resource next_keys = loader.keys(block_after);
  const Resource next_values = loader.values(next_block);
#endif
#if !ATTN_EXPONENTIAL
  weigh_block(w, block, blocks.is_full(block), p);
#endif
  multiply_all<true, kStepsQk>(
      w.products, fragments,
      loader.read_keys(), [&](int k) __attribute__((always_inline)) { return query[k]; },
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
      [&](Fragments & next) __attribute__((always_inline)) { meet_for_values(loader, next); });
#if ATTN_PAGE_SIZE
  const Loader::ValueTile next_values = loader.values(next_block);
#endif
#if ATTN_EXPONENTIAL
#if ATTN_CUT_LAST || ATTN_CUT_FIRST
  const Existing<kCut> exists(w, next_block, p);
#else
  const Existing<false> exists(w, next_block, p);
#endif
  const BlockTerms terms = terms_at(w, next_block, p);
#endif
  multiply_all<false, kStepsKv>(
      w.output, fragments,
      loader.read_values(), [&](int k) __attribute__((always_inline)) { return weights_at(w, k); },
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
        finish(w, terms, kSteps.first(i), kSteps.first(i + 1), exists, p);
#endif
      },
      [&](Fragments & next) __attribute__((always_inline)) { meet_for_keys(loader, next); });
#if ATTN_EXPONENTIAL
#if !ATTN_INTERVAL_MASK
  if (!blocks.is_full(next_block)) cut(w, next_block, p);
#endif
  adopt(w, p);
#endif
}

// All blocks of keys, the last one first. The two products of a block lie in different rounds.
#if ATTN_SPARSE
// `block`: the last of them that is kept.
__device__ __forceinline__ void visit(Wave& w, Loader& loader, const Blocks& blocks, Kept& kept,
                                      int block, int q_first, const Tile& tile, const Params& p) {
  int next_block = kept.before(block);
#else
__device__ __forceinline__ void visit(Wave& w, Loader& loader, const Blocks& blocks, int q_first,
                                      const Tile& tile, const Params& p) {
  const int begin = blocks.begin;
  int block = blocks.end - 1;
#endif
  Query query;
  Fragments fragments;

  const auto nothing = [](int) __attribute__((always_inline)){};
  const int last_rows = min(kTileKv, tile.seq_kv - block * kTileKv);
  loader.load_all_keys(loader.keys(block, last_rows));
  load_query(query, q_first, tile, p);
  loader.store_all_keys();
#if ATTN_SPARSE
  loader.load_all_keys(loader.keys(max(next_block, 0), next_block >= 0 ? kTileKv : 0));
#else
  // No rows if there is no block before. (A comparison here would merge with the loop's.)
  loader.load_all_keys(loader.keys(max(block - 1, begin), min(block - begin, 1) * kTileKv));
#endif
  loader.load_all_values(loader.values(block, last_rows));
  meet_for_keys(loader, fragments);
  multiply_all<true, kStepsQk>(
      w.products, fragments,
      loader.read_keys(), [&](int k) __attribute__((always_inline)) { return query[k]; }, nothing,
      [&](Fragments & next) __attribute__((always_inline)) {
        sync_block();  // all have read the keys
        loader.store_all_keys();
        meet_for_keys(loader, next);
      });
#if ATTN_EXPONENTIAL
#if ATTN_INTERVAL_MASK
  const Existing<true> exists(w, block, p);  // limits may cut the last block
#else
  const Existing<false> exists(w, block, p);
#endif
  finish(w, terms_at(w, block, p), 0, kPairs, exists, p);
#if !ATTN_INTERVAL_MASK
  if (!blocks.is_full(block)) cut(w, block, p);
#endif
  adopt(w, p);
#endif

#if ATTN_SPARSE
#if ATTN_CUT_LAST
  // A test of blocks inside one loop would cost registers: blocks that limits cut have their own.
  const int full_end = uniform(max(blocks.full_end, blocks.begin));
#endif
#if ATTN_CUT_FIRST
  const int full_begin = uniform(max(blocks.full_begin, blocks.begin));
#endif
  const auto visit_next = [&](auto visit_one) __attribute__((always_inline)) {
    const int block_after = kept.before(next_block);
    visit_one(max(block_after, 0));
    block = next_block;
    next_block = block_after;
  };
#if ATTN_CUT_LAST
#pragma unroll 1
  while (next_block >= full_end) {
    visit_next([&](int block_after) __attribute__((always_inline)) {
      visit_block<true>(w, query, fragments, loader, block, next_block, block_after, blocks, p);
    });
  }
#endif
#if ATTN_CUT_FIRST
#pragma unroll 1
  while (next_block >= full_begin) {
    visit_next([&](int block_after) __attribute__((always_inline)) {
      visit_block(w, query, fragments, loader, block, next_block, block_after, blocks, p);
    });
  }
#pragma unroll 1
  while (next_block >= 0) {
    visit_next([&](int block_after) __attribute__((always_inline)) {
      visit_block<true>(w, query, fragments, loader, block, next_block, block_after, blocks, p);
    });
  }
#else
#pragma unroll 1
  while (next_block >= 0) {
    visit_next([&](int block_after) __attribute__((always_inline)) {
      visit_block(w, query, fragments, loader, block, next_block, block_after, blocks, p);
    });
  }
#endif
#else
#if ATTN_CUT_LAST
  // A test of blocks inside one loop would cost registers: blocks that limits cut have their own.
  const int full_end = uniform(max(blocks.full_end, begin));
#pragma unroll 1
  for (; block > full_end; --block) {
    visit_block<true>(w, query, fragments, loader, block, blocks, p);
  }
#endif
#if ATTN_CUT_FIRST
  const int full_begin = uniform(max(blocks.full_begin, begin));
#pragma unroll 1
  for (; block > full_begin; --block) {
    visit_block(w, query, fragments, loader, block, blocks, p);
  }
#pragma unroll 1
  for (; block > begin; --block) {
    visit_block<true>(w, query, fragments, loader, block, blocks, p);
  }
#else
#pragma unroll 1
  for (; block > begin; --block) {
    visit_block(w, query, fragments, loader, block, blocks, p);
  }
#endif
#endif

#if ATTN_EXPONENTIAL
  weigh(w, 0, kWeighSteps);
#else
  weigh_block(w, block, blocks.is_full(block), p);
#endif
  loader.store_all_values();
  meet_for_values(loader, fragments);
  multiply_all<false, kStepsKv>(
      w.output, fragments,
      loader.read_values(), [&](int k) __attribute__((always_inline)) { return weights_at(w, k); },
      nothing, [](Fragments&) __attribute__((always_inline)){});
}

__device__ __forceinline__ void attend(uint8_t* keys, uint8_t* values, const Params& p) {
  const Tile tile = tile_at(blockIdx.x, p);
#if ATTN_VARLEN
  if (tile.seq_q == 0) return;
#endif
  const Blocks blocks = blocks_of(tile, p);
  const int q_first = tile.q_first + 32 * uniform(threadIdx.x / 64);
  Wave wave;
#if ATTN_PACKED_HEADS
  wave.row = group_row_at(tile, q_first + lane_row());
#else
  // Rows beyond the last one repeat it, so that inputs are read in range; they are not stored.
  wave.row = row_at(tile, min(q_first + lane_row(), tile.seq_q - 1));
#endif
#if ATTN_SPARSE
  Kept kept(tile, blocks, p);
  const int last = kept.before(blocks.end);
  const bool any_block = last >= 0;
#else
  const bool any_block = blocks.end > blocks.begin;
#endif
  if (any_block) {
#if ATTN_ROW_CONSTANTS
    set_constants(wave.row, p.inputs);
#endif
    Loader loader(keys, values, tile, p);
#if ATTN_SPARSE
    visit(wave, loader, blocks, kept, last, q_first, tile, p);
#else
    visit(wave, loader, blocks, q_first, tile, p);
#endif
  }

#if ATTN_EXPONENTIAL
  const Reductions reductions = wave.softmax.reductions();
#else
  const Reductions& reductions = wave.reductions;
#endif
  const RowValues result = row_values(complete(reductions), wave.row, p.inputs);
#if ATTN_COLUMN_INPUTS
  const ColumnRows inputs = column_rows(wave.row, p.inputs);
#endif
#pragma unroll
  for (int j = 0; j < kOutputBlocks; ++j) {
#if ATTN_COLUMN_INPUTS
    const ColumnWords words(inputs, 32 * j);
#endif
#pragma unroll
    for (int e = 0; e < 16; ++e) {
#if ATTN_EXPONENTIAL && !ATTN_BF16
      wave.output[j][e] *= kWeightUnit;
#endif
#if ATTN_OUTPUT_COLUMNS
      Column column;
      column.d = 32 * j + e / 4 * 8 + 4 * lane_half() + e % 4;
#if ATTN_COLUMN_INPUTS
      words.put(column, e);
#endif
      wave.output[j][e] = output_of(wave.output[j][e], column, result, wave.row, p.inputs);
#else
      wave.output[j][e] = output_of(wave.output[j][e], result, wave.row, p.inputs);
#endif
    }
  }
#if ATTN_PACKED_SAVES
  wave.row.first_save = int64_t{wave.row.h} * p.total_q + tile.q_begin;
#endif
#if ATTN_PACKED_HEADS
  if (lane_half() == 0 && is_stored(q_first + lane_row(), tile)) {
#else
  if (lane_half() == 0 && q_first + lane_row() < tile.seq_q) {
#endif
    store_saves(p.saves, result, wave.row, p.inputs);
  }
  store_output(wave.output, q_first, tile, p);
}
