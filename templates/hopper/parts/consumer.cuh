// A consumer warpgroup: 64 query rows against all their keys.
#pragma once

#if ATTN_PING_PONG
// Warpgroups take turns on the tensor cores: one multiplies while the others compute weights.
__device__ __forceinline__ void take_turn(int warpgroup) { named_sync(1 + warpgroup, 256); }
__device__ __forceinline__ void pass_turn(int warpgroup) {
  named_arrive(1 + (warpgroup + 1 == kWarpgroups ? 0 : warpgroup + 1), 256);
}
#endif

#if ATTN_QUERY_SHIFT
// Queries times a power of two, which is exact: the near score saturates the square of a product
// at 1.
__device__ __forceinline__ void scale_queries(uint8_t* query) {
  constexpr float kFactor = 1.0f / (1ull << ATTN_QUERY_SHIFT);
#pragma unroll 1
  for (int i = threadIdx.x % 128 * 16; i < kQueryBytes; i += 2048) {
    uint4& elements = *reinterpret_cast<uint4*>(query + i);
    const auto scaled = [](uint32_t pair) {
      return pack(low_half(pair) * kFactor, high_half(pair) * kFactor);
    };
    elements =
        uint4{scaled(elements.x), scaled(elements.y), scaled(elements.z), scaled(elements.w)};
  }
}
#endif

__device__ __forceinline__ void consume(Shared& shared, int warpgroup, const Params& p) {
  const int thread = threadIdx.x % 128;
  const int lane = thread % 32;
  RingSlot<kQueryStages> query_slot;
  RingSlot<kStages> key_slot, value_slot;

  const uint64_t queries = kept(row_descriptor<kChunkQk>(shared.query[0][warpgroup]));
#if ATTN_MAPS > 1
  // Of the thread's index, so that the compiler can compute it anew where registers are short.
  const int map = threadIdx.x / 128 % kMaps;
  const uint64_t keys = kept(row_descriptor<kChunkQk>(shared.key[0][map]));
#else
  const uint64_t keys = kept(row_descriptor<kChunkQk>(shared.key[0]));
#endif
  const uint64_t values = kept(column_descriptor<kChunkV>(shared.value[0]));
#if ATTN_WEIGHTS_SHARED
  const uint64_t weights = row_descriptor<kChunkKv>(shared.weights[warpgroup]);
#else
  Weights weights;
#endif
  Scores scores;
  Output output;
  Row rows[2];
  Reductions reductions[2];
#if ATTN_BIAS
  int tile_row = 0;  // the warpgroup's first
#endif

  const auto first_row = [&](const Tile& tile) {
#if ATTN_MAPS > 1
    return tile.q_first + 64 * (warpgroup / kMaps) + thread / 32 * 16 + lane / 4;
#else
    return tile.q_first + 64 * warpgroup + thread / 32 * 16 + lane / 4;
#endif
  };
  // Where the tile's rows stand. Rows beyond the last one repeat it, so that inputs are read in
  // range; they are not stored.
  const auto place_rows = [&](const Tile& tile) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      Row& row = rows[r];
#if ATTN_VARLEN
      row.seq_q = tile.seq_q;
      row.seq_kv = tile.seq_kv;
      row.first_save = int64_t{tile.h} * p.total_q + tile.q_begin;
#else
      row.seq_q = p.seq_q;
      row.seq_kv = p.seq_kv;
#endif
      row.b = tile.b;
#if ATTN_PACKED_HEADS
      const int packed = first_row(tile) + 8 * r;
      row.h = tile.h + packed % kGroup;
      row.q_idx = min(packed / kGroup, row.seq_q - 1);
#else
      row.h = tile.h;
      row.q_idx = min(first_row(tile) + 8 * r, row.seq_q - 1);
#endif
      row.h_kv = tile.h / (kHeadsQ / kHeadsKv);
      row.q_pos = row.q_idx + row.seq_kv - row.seq_q;
#if ATTN_MAPS > 1
      row.map = map;
#endif
    }
  };
#if ATTN_ROW_CONSTANTS
  const auto set_row_constants = [&] {
#pragma unroll
    for (int r = 0; r < 2; ++r) set_constants(rows[r], p.inputs);
  };
#endif
  const auto begin_rows = [&](const Tile& tile) {
#if ATTN_BIAS
#if ATTN_MAPS > 1
    tile_row = tile.q_first + 64 * (warpgroup / kMaps);
#else
    tile_row = tile.q_first + 64 * warpgroup;
#endif
#endif
    place_rows(tile);
#if ATTN_ROW_CONSTANTS && (!ATTN_INTRA_OVERLAP || ATTN_SKIP || ATTN_FAR)
    if (rows[0].seq_kv > 0) set_row_constants();  // inputs may be empty otherwise
#endif
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#if ATTN_SEARCHED_LIMITS
      // The lanes of a row find the same.
      int2& keys = shared.row_keys[warpgroup][thread / 32 * 16 + lane / 4 + 8 * r];
      keys = {};
      if (rows[r].seq_kv > 0) {
        keys = row_keys(rows[r], shared.tile_keys[query_slot.index][warpgroup], p.inputs);
      }
      rows[r].keys = &keys;
#endif
      reductions[r] = {};
    }
#if !ATTN_FAR
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][0][0] = output[j][0][1] = output[j][1][0] = output[j][1][1] = 0;
    }
#endif
  };
  // Once more at the tile's end: the loop has no registers to keep it in.
  const auto recall_tile = [&](Tile& tile) {
    tile = uniform(shared.tile[query_slot.index][warpgroup]);
    place_rows(tile);
  };
  // Asked as soon as the slot is known: the answer takes some thirty cycles.
  bool key_there = false, value_there = false;
  const auto start_scores = [&] {
    uint64_t query = queries + query_slot.index * (kWarpgroups * kQueryBytes / 16);
#if ATTN_HEAD_DIM_QK > 128
    // Adds 0, but the compiler cannot know. A query that is the same for all blocks has its
    // descriptors built before the loop; they do not fit the uniform registers, and two R2UR bring
    // each of the others back between two products.
    query += key_slot.index >> 31;
#endif
#if ATTN_MAPS > 1
    uint64_t key = keys + key_slot.index * (kMaps * kKeyBytes / 16);
#else
    uint64_t key = keys + key_slot.index * (kKeyBytes / 16);
#endif
    pin(key);
    if (!key_there) barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_PING_PONG
    take_turn(warpgroup);
#endif
    pin(scores);
    wgmma_fence();
    multiply_keys(scores, query, key);
    wgmma_commit();
  };
  const auto start_output = [&] {
    uint64_t value = values + value_slot.index * (kValueBytes / 16);
    pin(value);
    if (!value_there) barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
    pin(output);
    wgmma_fence();
    multiply_values(output, weights, value);
    wgmma_commit();
  };
  const auto release_key = [&] {
    if (lane == 0) barrier_arrive(shared.key_empty[key_slot.index]);
    key_slot.advance();
    key_there = barrier_test(shared.key_full[key_slot.index], key_slot.parity);
  };
  const auto release_value = [&] {
    if (lane == 0) barrier_arrive(shared.value_empty[value_slot.index]);
    value_slot.advance();
    value_there = barrier_test(shared.value_full[value_slot.index], value_slot.parity);
  };
#if ATTN_TRIMMED
  // Blocks that only other warpgroups need: waited for, since a slot's arrivals are counted by use.
  const auto pass_over = [&](int count) {
#pragma unroll 1
    for (; count > 0; --count) {
      barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_PING_PONG
      take_turn(warpgroup);
      pass_turn(warpgroup);
#endif
      release_key();
      barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
      release_value();
    }
  };
#endif
#if ATTN_BIAS
  // Of the block of the key slot, once its keys are there.
  const auto find_biases = [&](int block) {
#if ATTN_MAPS > 1
    uint8_t* const tile = shared.bias[key_slot.index][warpgroup / kMaps];  // of both maps
#else
    uint8_t* const tile = shared.bias[key_slot.index][warpgroup];
#endif
    if (!p.bias_by_tma) copy_biases(tile, tile_row, block * kTileKv, rows[0], p);
    rows[0].bias = rows[1].bias = tile;
  };
#endif
#if !ATTN_WALK
  const auto weigh_block = [&](const Blocks& blocks, int block, bool first) {
    return weigh(scores, first, blocks.is_full(block), block * kTileKv + lane % 4 * 2, rows,
                 p.inputs, reductions, shared.query[query_slot.index][warpgroup],
#if ATTN_MAPS > 1
                 shared.key[key_slot.index][map]);
#else
                 shared.key[key_slot.index]);
#endif
  };
#endif
  const auto hand_over_weights = [&] {
#if ATTN_WEIGHTS_SHARED
#if ATTN_POSITIVE_PART
    take_positive_part(scores);
#endif
    store_fragments<kChunkKv>(shared.weights[warpgroup], scores);
    fence_async_proxy();
    __syncwarp();  // a warp's rows are read for that warp alone
#else
    pack_weights(weights, scores);
#endif
  };

#if ATTN_VARLEN
  // A tile's block of the last keys may hold those of the next sequence.
  const auto clear_next_sequence = [&](const Tile& tile, int block) {
    const int first = tile.seq_kv - block * kTileKv;
    if (first >= kTileKv) return;
    barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
    clear_values(shared.value[value_slot.index], max(first, 0));
    fence_async_proxy();
    named_sync(1 + kWarpgroups + warpgroup, 128);
  };
#endif
#if ATTN_PING_PONG
  if (warpgroup == kWarpgroups - 1) pass_turn(warpgroup);  // the first turn
#endif
#pragma unroll 1
  while (true) {
    barrier_wait(shared.query_full[query_slot.index][warpgroup], query_slot.parity);
    Tile tile = uniform(shared.tile[query_slot.index][warpgroup]);
#if ATTN_PERSISTENT
    if (tile.b < 0) break;
#endif
#if ATTN_SEARCHED_LIMITS
    begin_rows(tile);
    named_sync(1 + kWarpgroups + warpgroup, 128);  // all rows' keys are there
    const int2(&row_keys)[64] = shared.row_keys[warpgroup];
    const Work work =
        work_of(shared.tile_keys[query_slot.index][warpgroup], row_keys[0], row_keys[63]);
#elif !ATTN_WALK
    const Work work = work_of(tile, warpgroup, p);
#endif
#if !ATTN_WALK
    // The compiler would rather compute the limits again, between two products.
    const Blocks blocks{work.blocks.begin, work.blocks.end, uniform(work.blocks.full_begin),
                        uniform(work.blocks.full_end)};
#endif
#if ATTN_QUERY_SHIFT
    scale_queries(shared.query[query_slot.index][warpgroup]);
    fence_async_proxy();
    named_sync(1 + kWarpgroups + warpgroup, 128);
#endif
#if ATTN_TRIMMED && !ATTN_ASCENDING
    pass_over(work.before);
#endif
#if !ATTN_SEARCHED_LIMITS
    begin_rows(tile);
#endif
#if ATTN_FAR
    add_far_keys(shared, shared.query[query_slot.index][warpgroup], keys, work.far, key_slot,
                 value_slot, rows, p.inputs, scores, output, reductions, key_there, value_there);
#endif
#if ATTN_WALK
    // Each slot of keys says which block it holds.
    const auto visit_of_slot = [&]() -> Visit { return {shared.visit[key_slot.index][lane % 2]}; };
    const auto weigh_visit = [&](Visit visit, bool first) {
#if ATTN_GATHER
      rows[0].apart = rows[1].apart = shared.apart[key_slot.index];
      const int kv_first = visit.block() * kBlockKv + lane % 4 * 2;
#else
      const int kv_first = visit.block() * kTileKv + lane % 4 * 2;
#endif
      return weigh(scores, first, visit.full(), kv_first, rows, p.inputs, reductions,
                   shared.query[query_slot.index][warpgroup],
#if ATTN_MAPS > 1
                   shared.key[key_slot.index][map]);
#else
                   shared.key[key_slot.index]);
#endif
    };
    bool more = uniform(shared.any_visit[query_slot.index][warpgroup]);
#if ATTN_SKIP
    // A block that only other warpgroups keep is let pass. Nothing is pending then, so that slots
    // come free in order.
    const auto next_visit = [&] {
      barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
      return visit_of_slot();
    };
    bool first = true;
#pragma unroll 1
    while (more) {
      const Visit visit = next_visit();
      more = visit.more();
      if (!visit.keeps(warpgroup)) {
        release_key();
        barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
        release_value();
        continue;
      }
      start_scores();
#if ATTN_BIAS
      find_biases(visit.block());
#endif
      wgmma_wait<0>();
      pin(scores);
      const Factors factors = weigh_visit(visit, first);
      first = false;
      release_key();
#if !ATTN_ROW_FREE
      rescale(output, factors);
#endif
      hand_over_weights();
#if ATTN_INTRA_OVERLAP
      // The next block's S runs under this block's softmax, and this block's PV under the next
      // one's.
#pragma unroll 1
      while (more) {
        const Visit following = next_visit();
        if (!following.keeps(warpgroup)) break;
        more = following.more();
        start_scores();
        start_output();
#if ATTN_BIAS
        find_biases(following.block());
#endif
        wgmma_wait<1>();
        pin(scores);
        const Factors factors = weigh_visit(following, false);
        release_key();
        wgmma_wait<0>();
        pin(output);
        release_value();
#if !ATTN_ROW_FREE
        rescale(output, factors);
#endif
        hand_over_weights();
      }
#endif
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#elif ATTN_INTRA_OVERLAP
    // The next block's S runs under this block's softmax, and this block's PV under the next one's.
    if (more) {
      start_scores();
      Visit visit = visit_of_slot();
#if ATTN_PING_PONG
      pass_turn(warpgroup);
#endif
#if ATTN_ROW_CONSTANTS
      set_row_constants();  // loads pass under the first product
#endif
#if ATTN_BIAS
      find_biases(visit.block());
#endif
      wgmma_wait<0>();
      pin(scores);
      weigh_visit(visit, true);
      release_key();
      hand_over_weights();
#if ATTN_VARLEN
      clear_next_sequence(tile, visit.block());
#endif
#pragma unroll 1
      while (visit.more()) {
        start_scores();
        visit = visit_of_slot();
        start_output();
#if ATTN_PING_PONG
        pass_turn(warpgroup);
#endif
#if ATTN_BIAS
        find_biases(visit.block());
#endif
        wgmma_wait<1>();
        pin(scores);
        const Factors factors = weigh_visit(visit, false);
        release_key();
        wgmma_wait<0>();
        pin(output);
        release_value();
#if !ATTN_ROW_FREE
        rescale(output, factors);
#endif
        hand_over_weights();
      }
      start_output();
      recall_tile(tile);
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#else
#pragma unroll 1
    for (bool first = true; more; first = false) {
      start_scores();
      const Visit visit = visit_of_slot();
      more = visit.more();
#if ATTN_BIAS
      find_biases(visit.block());
#endif
      wgmma_wait<0>();
      pin(scores);
#if ATTN_PING_PONG
      pass_turn(warpgroup);
#endif
      const Factors factors = weigh_visit(visit, first);
      release_key();
#if !ATTN_ROW_FREE
      rescale(output, factors);
#endif
      hand_over_weights();
#if ATTN_VARLEN
      if (first) clear_next_sequence(tile, visit.block());
#endif
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#endif
#elif ATTN_INTRA_OVERLAP
    // The next block's S runs under this block's softmax, and this block's PV under the next one's.
    if (!blocks.none()) {
      start_scores();
#if ATTN_PING_PONG
      pass_turn(warpgroup);
#endif
#if ATTN_ROW_CONSTANTS && !ATTN_FAR
      set_row_constants();  // loads pass under the first product
#endif
#if ATTN_BIAS
      find_biases(blocks.first());
#endif
      wgmma_wait<0>();
      pin(scores);
      weigh_block(blocks, blocks.first(), true);
      release_key();
      hand_over_weights();
#if ATTN_VARLEN && !ATTN_ASCENDING
      clear_next_sequence(tile, blocks.first());
#endif
#pragma unroll 1
      for (int block = Blocks::after(blocks.first()); blocks.has(block);
           block = Blocks::after(block)) {
        start_scores();
        start_output();
#if ATTN_PING_PONG
        pass_turn(warpgroup);
#endif
#if ATTN_BIAS
        find_biases(block);
#endif
        wgmma_wait<1>();
        pin(scores);
        const Factors factors = weigh_block(blocks, block, false);
        release_key();
        wgmma_wait<0>();
        pin(output);
        release_value();
#if !ATTN_ROW_FREE
        rescale(output, factors);
#endif
        hand_over_weights();
      }
#if ATTN_VARLEN && ATTN_ASCENDING
      clear_next_sequence(tile, blocks.last());
#endif
      start_output();
      recall_tile(tile);
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#else
#pragma unroll 1
    for (int block = blocks.first(); blocks.has(block); block = Blocks::after(block)) {
      start_scores();
#if ATTN_BIAS
      find_biases(block);
#endif
      wgmma_wait<0>();
      pin(scores);
#if ATTN_PING_PONG
      pass_turn(warpgroup);
#endif
      const Factors factors = weigh_block(blocks, block, block == blocks.first());
      release_key();
#if !ATTN_ROW_FREE
      rescale(output, factors);
#endif
      hand_over_weights();
#if ATTN_VARLEN
      if (block == blocks.end - 1) clear_next_sequence(tile, block);
#endif
      start_output();
      wgmma_wait<0>();
      pin(output);
      release_value();
    }
#endif
#if ATTN_TRIMMED
    pass_over(work.after);
#endif
#if !ATTN_INTRA_OVERLAP || ATTN_SKIP
    recall_tile(tile);
#endif
    finish_rows(shared.query[query_slot.index][warpgroup],
                shared.output_full[query_slot.index][warpgroup], warpgroup, tile, first_row(tile),
                rows, output, reductions, p);
    query_slot.advance();
#if !ATTN_PERSISTENT
    break;
#endif
  }
#if ATTN_PING_PONG
  if (warpgroup == 0) take_turn(0);  // the turn that nobody takes
#endif
}
