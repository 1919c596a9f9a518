// The producer: one warp that keeps the rings of key and value tiles full by TMA. All its lanes
// walk along, so that addresses stay in uniform registers; one lane issues.
#pragma once

template <int kChunks, int kChunk>
__device__ __forceinline__ void load_tile(const CUtensorMap& map, uint64_t& full, uint8_t* tile,
                                          int tile_rows, int row, int head, int batch,
                                          uint64_t policy) {
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    tma_load(map, full, tile + chunk * chunk_bytes(tile_rows, kChunk), chunk * kChunk, row, head,
             batch, policy);
  }
}

#if ATTN_GATHER
// Two blocks of keys, one below the other in each chunk of columns; where there is no second one,
// numbers that no weight lets through.
template <int kChunks, int kChunk>
__device__ __forceinline__ void load_pair(const CUtensorMap& map, uint64_t& full, uint8_t* tile,
                                          int first, int second, int head, int batch) {
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    uint8_t* const columns = tile + chunk * chunk_bytes(kTileKv, kChunk);
    tma_load(map, full, columns, chunk * kChunk, first * kBlockKv, head, batch, kEvictLast);
    tma_load(map, full, columns + chunk_bytes(kBlockKv, kChunk), chunk * kChunk,
             (second < 0 ? first : second) * kBlockKv, head, batch, kEvictLast);
  }
}

#endif
__device__ __forceinline__ void produce(Shared& shared, const CUtensorMap& map_q,
                                        const CUtensorMap& map_k, const CUtensorMap& map_v,
#if ATTN_BIAS
                                        const CUtensorMap& map_bias,
#endif
                                        const Params& p) {
  const bool issues = threadIdx.x % 32 == 0;
  RingSlot<kQueryStages> query_slot;
  RingSlot<kStages> key_slot, value_slot;
#if ATTN_WALK
  Visit announced{};  // what the consumers are told of the next keys
#endif
#if ATTN_GATHER
  int beside = -1;  // the second block of the next values
#endif
#if ATTN_VALUE_PARTS > 1
  int value_column = 0;  // the tile's first
#endif
#if ATTN_VARLEN
  TileFinder finder;
  const int tiles = *p.tile_count;
  int kv_begin = 0;  // of the tile's sequence
#endif
#if ATTN_BIAS
  int bias_row = 0, bias_of_tile = 0;  // the tile's first row, and the matrix that it is in
#endif
  const auto load_key = [&](int block, int head, int batch) {
    barrier_wait(shared.key_empty[key_slot.index], key_slot.parity ^ 1);
    if (issues) {
#if ATTN_WALK
      // Seen once the keys are there.
      shared.visit[key_slot.index][0] = shared.visit[key_slot.index][1] = announced.word;
#endif
#if ATTN_GATHER
      // Without a second block, its columns stand behind the last key.
      shared.apart[key_slot.index] = announced.second < 0
                                         ? p.seq_kv - block * kBlockKv
                                         : (announced.second - block - 1) * kBlockKv;
#endif
      uint64_t& full = shared.key_full[key_slot.index];
#if ATTN_BIAS
#if ATTN_MAPS > 1
      constexpr int kBiasTiles = kWarpgroups / kMaps;
      barrier_expect(full, kMaps * kKeyBytes + (p.bias_by_tma ? kBiasTiles * kBiasTileBytes : 0));
#else
      barrier_expect(full, kKeyBytes + (p.bias_by_tma ? kWarpgroups * kBiasTileBytes : 0));
#endif
      if (p.bias_by_tma) {
#pragma unroll
#if ATTN_MAPS > 1
        for (int i = 0; i < kBiasTiles; ++i) {
#else
        for (int i = 0; i < kWarpgroups; ++i) {
#endif
#pragma unroll
          for (int chunk = 0; chunk < kChunksBias; ++chunk) {
            tma_load(map_bias, full,
                     shared.bias[key_slot.index][i] + chunk * chunk_bytes(64, kChunkBias),
                     block * (kTileKv * kBiasBytes / 2) + chunk * kChunkBias, bias_row + 64 * i,
                     bias_of_tile, 0, kEvictNormal);
          }
        }
      }
#elif ATTN_MAPS > 1
      barrier_expect(full, kMaps * kKeyBytes);
#else
      barrier_expect(full, kKeyBytes);
#endif
#if ATTN_MAPS > 1
#pragma unroll
      for (int map = 0; map < kMaps; ++map) {
        load_tile<kChunksQk, kChunkQk>(map_k, full, shared.key[key_slot.index][map], kTileKv,
                                       block * kTileKv, kMaps * head + map, batch, kEvictLast);
      }
#elif ATTN_VARLEN
      load_tile<kChunksQk, kChunkQk>(map_k, full, shared.key[key_slot.index], kTileKv,
                                     kv_begin + block * kTileKv, head, 0, kEvictLast);
#elif ATTN_GATHER
      load_pair<kChunksQk, kChunkQk>(map_k, full, shared.key[key_slot.index], block,
                                     announced.second, head, batch);
#else
      load_tile<kChunksQk, kChunkQk>(map_k, full, shared.key[key_slot.index], kTileKv,
                                     block * kTileKv, head, batch, kEvictLast);
#endif
    }
    __syncwarp();
    key_slot.advance();
  };
#if ATTN_FAR
  const auto fill = [&](RingSlot<kStages>& slot, uint64_t(&full)[kStages],
                        uint64_t(&empty)[kStages], uint8_t* tile, const auto& load) {
    barrier_wait(empty[slot.index], slot.parity ^ 1);
    if (issues) {
      barrier_expect(full[slot.index], kKeyBytes);
      load(full[slot.index], tile);
    }
    __syncwarp();
    slot.advance();
  };
  const auto fill_far = [&](bool in_values, const auto& load) {
    if (kFarInValues && in_values) {
      fill(value_slot, shared.value_full, shared.value_empty, shared.value[value_slot.index], load);
    } else {
      fill(key_slot, shared.key_full, shared.key_empty, shared.key[key_slot.index], load);
    }
  };
#if ATTN_FAR_SUMS
  const auto load_far_key = [&](bool in_values, int block, int head, int batch) {
    fill_far(in_values, [&](uint64_t& full, uint8_t* tile) {
      load_tile<kChunksQk, kChunkQk>(map_k, full, tile, kTileKv, block * kTileKv, head, batch,
                                     kEvictLast);
    });
  };
#endif
  // At the end of `chunks` chunks.
  const auto load_state = [&](int chunks, int head, int batch) {
    const int plane = batch * kHeadsQ + head;
#if ATTN_VALUE_PARTS > 1
    const uint8_t* const state = p.states + (int64_t{plane} * p.chunks + chunks - 1) * kStateBytes +
                                 value_column / 64 * kKeyBytes;
#else
    const uint8_t* const state = p.states + (int64_t{plane} * p.chunks + chunks - 1) * kStateBytes;
#endif
#pragma unroll
    for (int i = 0; i < kStateSlots; ++i) {
      fill_far(i % 2 == 1, [&](uint64_t& full, uint8_t* tile) {
        bulk_load(full, tile,
                  state + i / kStateRowBlocks * kStatePartBytes + i % kStateRowBlocks * kKeyBytes,
                  kKeyBytes);
      });
    }
  };
#endif
  const auto load_value = [&](int block, int head, int batch) {
    barrier_wait(shared.value_empty[value_slot.index], value_slot.parity ^ 1);
    if (issues) {
      uint64_t& full = shared.value_full[value_slot.index];
      barrier_expect(full, kValueBytes);
#if ATTN_VALUE_PARTS > 1
#if ATTN_VARLEN
      const int row = kv_begin + block * kTileKv, sequence = 0;
#else
      const int row = block * kTileKv, sequence = batch;
#endif
#pragma unroll
      for (int chunk = 0; chunk < kChunksV; ++chunk) {
        tma_load(map_v, full,
                 shared.value[value_slot.index] + chunk * chunk_bytes(kTileKv, kChunkV),
                 value_column + chunk * kChunkV, row, head, sequence, kEvictLast);
      }
#elif ATTN_VARLEN
      load_tile<kChunksV, kChunkV>(map_v, full, shared.value[value_slot.index], kTileKv,
                                   kv_begin + block * kTileKv, head, 0, kEvictLast);
#elif ATTN_GATHER
      load_pair<kChunksV, kChunkV>(map_v, full, shared.value[value_slot.index], block, beside, head,
                                   batch);
#else
      load_tile<kChunksV, kChunkV>(map_v, full, shared.value[value_slot.index], kTileKv,
                                   block * kTileKv, head, batch, kEvictLast);
#endif
    }
    __syncwarp();
    value_slot.advance();
  };

  int index = blockIdx.x;
#pragma unroll 1
  while (index < p.tiles) {
#if ATTN_VARLEN
    if (index >= tiles) break;
#endif
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
    int next = p.tiles;
    // Asked for late, under the last loads: whoever finishes first gets the next tile.
    const auto claim_next = [&] {
      if (issues && p.tiles > static_cast<int>(gridDim.x)) {
        next = gridDim.x + atomicAdd(p.next_tile, 1);
      }
    };
#elif ATTN_PERSISTENT
    const int next = index + gridDim.x;
#else
    const int next = p.tiles;
#endif
#if ATTN_VARLEN
    const Tile tile = finder.find(index, p);
    kv_begin = tile.kv_begin;
#else
    const Tile tile = tile_at(index, p);
#endif
#if ATTN_VALUE_PARTS > 1
    value_column = tile.part * kHeadDimV;
#endif
#if ATTN_SEARCHED_LIMITS
    KeyRange tile_keys{};
    const Blocks blocks = blocks_of(tile, tile.q_first, kTileQ, tile_keys, p);
#else
#if ATTN_FAR
    Blocks blocks = blocks_of(tile, tile.q_first, kTileQ, p);
#else
    const Blocks blocks = blocks_of(tile, tile.q_first, kTileQ, p);
#endif
#endif
    const int h_kv = tile.h / (kHeadsQ / kHeadsKv);
#if ATTN_BIAS
    bias_row = tile.q_first;
    bias_of_tile =
        bias_matrix({tile.b, tile.h, h_kv, tile.q_first, 0, p.seq_q, p.seq_kv}, p.inputs);
#endif

#if ATTN_WALK
    // A visit says whether another follows, so the walk is a block ahead of the loads.
    Walk walk(tile, blocks, p);
    Visit visit = walk.next(p.inputs);
    Visit following = walk.next(p.inputs);
    const bool any = visit.exists();
    announced = visit.with_more(following.exists());
    if (any) load_key(visit.block(), h_kv, tile.b);
#else
#if ATTN_FAR
    const int far = far_blocks(blocks, p);
#endif
#if ATTN_FAR && !ATTN_FAR_SUMS
    if (far == 0 && !blocks.none()) load_key(blocks.first(), h_kv, tile.b);
#else
    if (!blocks.none()) load_key(blocks.first(), h_kv, tile.b);
#endif
#endif
#pragma unroll 1
    for (int i = 0; i < kWarpgroups; ++i) {
      barrier_wait(shared.query_empty[query_slot.index][i], query_slot.parity ^ 1);
      if (issues) {
        shared.tile[query_slot.index][i] = tile;  // seen once the queries are there
#if ATTN_WALK
        shared.any_visit[query_slot.index][i] = any;
#endif
#if ATTN_SEARCHED_LIMITS
        shared.tile_keys[query_slot.index][i] = tile_keys;
#endif
        uint64_t& full = shared.query_full[query_slot.index][i];
        barrier_expect(full, kChunksQk * chunk_bytes(64, kChunkQk));
#if ATTN_VARLEN
        load_tile<kChunksQk, kChunkQk>(map_q, full, shared.query[query_slot.index][i], 64,
                                       tile.q_begin + tile.q_first + 64 * i, tile.h, 0,
                                       kEvictFirst);
#elif ATTN_PACKED_HEADS
        // Coordinates of this map are {column, head, query, batch}.
        load_tile<kChunksQk, kChunkQk>(map_q, full, shared.query[query_slot.index][i], 64, tile.h,
                                       (tile.q_first + 64 * i) / kGroup, tile.b, kEvictFirst);
#elif ATTN_MAPS > 1
        load_tile<kChunksQk, kChunkQk>(map_q, full, shared.query[query_slot.index][i], 64,
                                       tile.q_first + 64 * (i / kMaps), kMaps * tile.h + i % kMaps,
                                       tile.b, kEvictFirst);
#else
        load_tile<kChunksQk, kChunkQk>(map_q, full, shared.query[query_slot.index][i], 64,
                                       tile.q_first + 64 * i, tile.h, tile.b, kEvictFirst);
#endif
      }
      __syncwarp();
    }
    query_slot.advance();
#if ATTN_FAR
#if ATTN_FAR_SUMS
#pragma unroll 1
    for (int block = 1; block < far; block += 2) {
      load_far_key(true, block, h_kv, tile.b);
      if (block + 1 < far) load_far_key(false, block + 1, h_kv, tile.b);
    }
#endif
    wait_for_stream();  // the states, and the counter of tiles
    if (far > 0) {
      load_state(far / kChunkBlocks, tile.h, tile.b);
      blocks.begin = far;
      if (!blocks.none()) load_key(far, h_kv, tile.b);
    }
#endif
    // In the order in which the consumers ask: the next block's keys before this block's values.
#if ATTN_WALK
#pragma unroll 1
    while (visit.exists()) {
      const Visit after = walk.next(p.inputs);
      announced = following.with_more(after.exists());
      if (following.exists()) load_key(following.block(), h_kv, tile.b);
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
      if (!following.exists()) claim_next();
#endif
#if ATTN_GATHER
      beside = visit.second;
#endif
      load_value(visit.block(), h_kv, tile.b);
      visit = following;
      following = after;
    }
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
    if (!any) claim_next();
#endif
#else
#pragma unroll 1
    for (int block = blocks.first(); blocks.has(block); block = Blocks::after(block)) {
      if (block != blocks.last()) load_key(Blocks::after(block), h_kv, tile.b);
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
      if (block == blocks.last()) claim_next();
#endif
      load_value(block, h_kv, tile.b);
    }
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
    if (blocks.none()) claim_next();
#endif
#endif
    index = uniform(next);
  }
#if ATTN_PERSISTENT
#pragma unroll 1
  for (int i = 0; i < kWarpgroups; ++i) {
    barrier_wait(shared.query_empty[query_slot.index][i], query_slot.parity ^ 1);
    if (issues) {
      shared.tile[query_slot.index][i].b = -1;
      barrier_arrive(shared.query_full[query_slot.index][i]);
    }
    __syncwarp();
  }
#endif
}
