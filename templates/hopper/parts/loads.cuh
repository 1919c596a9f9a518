#if ATTN_VALUES_APART
// What the producer loads: a tile's queries, a block's keys.
#else
// What the producer loads: a tile's queries, a block's keys and values.
#endif
#pragma once

template <int kChunks, int kChunk>
__device__ __forceinline__ void load_rows(const CUtensorMap& map, uint64_t& full, uint8_t* tile,
                                          int rows, int first_row, int head, int batch,
#if ATTN_VALUE_PARTS > 1
                                          uint64_t policy, int first_column = 0) {
#else
                                          uint64_t policy) {
#endif
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
#if ATTN_VALUE_PARTS > 1
    const int column = first_column + chunk * kChunk;
#else
    const int column = chunk * kChunk;
#endif
    tma_load(map, full, tile + chunk * chunk_bytes(rows, kChunk), column, first_row, head, batch,
             policy);
  }
}

#if ATTN_GATHER && !ATTN_PAGE_SIZE
// Two blocks of keys, one below the other in each chunk of columns; where there is no second one,
// numbers that no weight lets through.
template <int kChunks, int kChunk>
__device__ __forceinline__ void load_pair(const CUtensorMap& map, uint64_t& full, uint8_t* tile,
#if ATTN_VARLEN
                                          int begin, int first, int second, int head) {
#else
                                          int first, int second, int head, int batch) {
#endif
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    uint8_t* const columns = tile + chunk * chunk_bytes(kTileKv, kChunk);
#if ATTN_VARLEN
    tma_load(map, full, columns, chunk * kChunk, begin + first * kBlockKv, head, 0, kEvictLast);
    tma_load(map, full, columns + chunk_bytes(kBlockKv, kChunk), chunk * kChunk,
             begin + (second < 0 ? first : second) * kBlockKv, head, 0, kEvictLast);
#else
    tma_load(map, full, columns, chunk * kChunk, first * kBlockKv, head, batch, kEvictLast);
    tma_load(map, full, columns + chunk_bytes(kBlockKv, kChunk), chunk * kChunk,
             (second < 0 ? first : second) * kBlockKv, head, batch, kEvictLast);
#endif
  }
}

#endif
// Where warpgroup i's queries begin, in the coordinates of their tensor map.
struct QueryPlace {
  int row, head, batch;
};

__device__ __forceinline__ QueryPlace queries_of(const Tile& tile, int i) {
  const int row = first_row_of(tile, i);
#if ATTN_PACKED_HEADS && ATTN_MAPS > 1
  // Which are {column, head, query, batch}.
  const int head = kMaps * tile.h + i % kMaps, query = row / kGroupRows;
#if ATTN_VARLEN
  return {head, tile.q_begin + query, 0};
#else
  return {head, query, tile.b};
#endif
#elif ATTN_VARLEN && ATTN_PACKED_HEADS
  // Which are {column, head, query, batch}.
  return {tile.h, tile.q_begin + row / kGroupRows, 0};
#elif ATTN_VARLEN && ATTN_MAPS > 1
  return {tile.q_begin + row, kMaps * tile.h + i % kMaps, 0};
#elif ATTN_VARLEN
  return {tile.q_begin + row, tile.h, 0};
#elif ATTN_PACKED_HEADS
  // Which are {column, head, query, batch}.
  return {tile.h, row / kGroupRows, tile.b};
#elif ATTN_MAPS > 1
  return {row, kMaps * tile.h + i % kMaps, tile.b};
#else
  return {row, tile.h, tile.b};
#endif
}

#if !ATTN_VARLEN
// Asks for a tile's queries ahead of the load: as far as the L2, and so before the kernels before
// have ended.
__device__ __forceinline__ void prefetch_queries(const CUtensorMap& map, const Tile& tile) {
#pragma unroll 1
  for (int i = 0; i < ATTN_ROW_BLOCKS; ++i) {
    const QueryPlace place = queries_of(tile, i);
#pragma unroll
    for (int chunk = 0; chunk < kChunksQk; ++chunk) {
      tma_prefetch(map, chunk * kChunkQk, place.row, place.head, place.batch);
    }
  }
}

#endif
// Loads the tile's queries, and leaves beside them what consumers are told of it.
__device__ __forceinline__ void Producer::load_queries() {
#pragma unroll 1
  for (int i = 0; i < ATTN_ROW_BLOCKS; ++i) {
    barrier_wait(shared.query_empty[query_slot.index][i], query_slot.parity ^ 1);
    if (issues) {
      shared.tile[query_slot.index][i] = tile;
#if ATTN_WALK
      shared.any_visit[query_slot.index][i] = any_visit;
#endif
#if ATTN_SEARCHED_LIMITS
      shared.tile_keys[query_slot.index][i] = tile_keys;
#endif
      uint64_t& full = shared.query_full[query_slot.index][i];
      uint8_t* const queries = shared.query[query_slot.index][i];
      barrier_expect(full, kChunksQk * chunk_bytes(64, kChunkQk));
      const QueryPlace place = queries_of(tile, i);
      load_rows<kChunksQk, kChunkQk>(maps.q, full, queries, 64, place.row, place.head, place.batch,
                                     kEvictNormal);
    }
    __syncwarp();
  }
  query_slot.advance();
}

#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
// Of a block's pairs: under the barrier of its keys.
__device__ __forceinline__ void Producer::load_biases(uint64_t& full, int block) {
#pragma unroll
  for (int i = 0; i < kBiasTiles; ++i) {
#pragma unroll
    for (int chunk = 0; chunk < kChunksBias; ++chunk) {
      uint8_t* const columns = shared.bias[key_slot.index][i] + chunk * chunk_bytes(64, kChunkBias);
      const int column = block * (kTileKv * kBiasBytes / 2) + chunk * kChunkBias;
#if ATTN_PACKED_HEADS && ATTN_BIAS_GROUPED
      tma_load(maps.bias, full, columns, column, bias_row + kBiasRows * i, bias_plane, 0,
               kEvictNormal);
#elif ATTN_PACKED_HEADS
      // Which are {column, head, query, 0}.
      tma_load(maps.bias, full, columns, column, bias_plane, bias_row + 64 / kGroupRows * i, 0,
               kEvictNormal);
#else
      tma_load(maps.bias, full, columns, column, bias_row + 64 * i, bias_plane, 0, kEvictNormal);
#endif
    }
  }
}

#endif
#if ATTN_MASK_BITS && !ATTN_TOKENS
// Of a block's pairs, likewise.
__device__ __forceinline__ void Producer::load_mask(uint64_t& full, int block) {
  barrier_expect_more(full, kMaskBytes);
  bulk_load(full, shared.mask[key_slot.index], tile_mask + int64_t{block} * (kMaskBytes / 16),
            kMaskBytes);
}

#endif
#if ATTN_BIAS
// Of those who copy: of the block that comes next, before its slot is free.
__device__ __forceinline__ void Producer::call_for_biases(int block) {
  if (issues) {
    shared.bias_call[call_slot.index] = {tile, block};
    barrier_arrive(shared.bias_called[call_slot.index]);
  }
  call_slot.advance();
}

#endif
#if ATTN_VALUES_APART
// Of the warp that brings values: of the block that comes next, before its slot is free.
__device__ __forceinline__ void Producer::call_for_values(int block) {
  barrier_wait(shared.value_taken[call_slot.index], call_slot.parity ^ 1);
  if (issues) shared.value_call[call_slot.index] = {tile, block};
#if ATTN_PAGE_ROWS
  if (block >= 0) row_pages.tell<kChunkV>(p.v, shared.value_places[call_slot.index]);
  barrier_arrive(shared.value_called[call_slot.index]);
#else
  if (issues) barrier_arrive(shared.value_called[call_slot.index]);
#endif
  __syncwarp();
  call_slot.advance();
}

#endif
#if ATTN_PAGE_ROWS
#if ATTN_GATHER
__device__ __forceinline__ void Producer::find_pages(int block) {
  row_pages.block = block;
  row_pages.second = announced.second;
  row_pages.look_up(page_table);
  row_pages.check(p);
}
#else
// Looked up ahead, mostly.
__device__ __forceinline__ void Producer::find_pages(int block) {
  if (row_pages.block != block) {
    row_pages.block = block;
    row_pages.look_up(page_table);
  }
  row_pages.check(p);
}

// Of what is likely to be the next block: on its way under the copies of this one.
__device__ __forceinline__ void Producer::look_ahead() {
#if ATTN_ASCENDING
  ++row_pages.block;
#else
  if (--row_pages.block < 0) return;
#endif
  row_pages.look_up(page_table);
}
#endif

#endif
#if !ATTN_TOKENS
__device__ __forceinline__ void Producer::load_key(int block) {
#if ATTN_BIAS
  if (copies_biases(bias_layout)) call_for_biases(block);
#endif
#if ATTN_PAGE_ROWS
  find_pages(block);
#endif
#if ATTN_VALUES_APART
  call_for_values(block);
#endif
#if ATTN_PAGE_ROWS
  // All before the slot is free, so that it is filled at once then.
  row_pages.tell<kChunkQk>(p.k, shared.key_places);
#if !ATTN_SHARE_KV && !ATTN_VALUES_APART
  row_pages.tell<kChunkV>(p.v, shared.value_places[key_slot.index]);  // of the same block
#endif
#if !ATTN_GATHER
  look_ahead();
#endif
#endif
#if ATTN_PAGE_SIZE && !ATTN_PAGE_ROWS && ATTN_GATHER
  const PageCopy copy = page_copy(tile, block, announced.second, p);
#elif ATTN_PAGE_SIZE && !ATTN_PAGE_ROWS
  const PageCopy copy = page_copy(tile, block, p);
#endif
  barrier_wait(shared.key_empty[key_slot.index], key_slot.parity ^ 1);
  if (issues) {
#if ATTN_WALK
    // Seen once the keys are there.
    shared.visit[key_slot.index][0] = shared.visit[key_slot.index][1] = announced.word;
#endif
#if ATTN_ROWS_DIFFER
    shared.keepers[key_slot.index] = announced.keepers;
#endif
#if ATTN_GATHER
    // Without a second block, its columns stand behind the last key.
#if ATTN_VARLEN
    shared.apart[key_slot.index] = announced.second < 0 ? tile.seq_kv - block * kBlockKv
                                                        : (announced.second - block - 1) * kBlockKv;
#else
    shared.apart[key_slot.index] = announced.second < 0 ? p.seq_kv - block * kBlockKv
                                                        : (announced.second - block - 1) * kBlockKv;
#endif
#endif
    uint64_t& full = shared.key_full[key_slot.index];
#if ATTN_MASK_BITS
    if ((announced.word & Visit::kFull) == 0) load_mask(full, block);  // else none is tested
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
#if ATTN_BIAS_GROUPED
    constexpr int kBiasBytesOfTile = kChunksBias * chunk_bytes(kBiasRows, kChunkBias);
    const int biases = copies_biases(bias_layout) ? 0 : kBiasTiles * kBiasBytesOfTile;
#else
    const int biases = copies_biases(bias_layout) ? 0 : kBiasTiles * kBiasChunksBytes;
#endif
#if ATTN_PAGE_ROWS
    barrier_expect(full, biases);
#elif ATTN_MAPS > 1
    barrier_expect(full, kMaps * kKeyBytes + biases);
#else
    barrier_expect(full, kKeyBytes + biases);
#endif
    if (!copies_biases(bias_layout)) load_biases(full, block);
#elif ATTN_PAGE_ROWS
    barrier_arrive(full);
#elif ATTN_MAPS > 1
    barrier_expect(full, kMaps * kKeyBytes);
#else
    barrier_expect(full, kKeyBytes);
#endif
#if !ATTN_PAGE_SIZE
#if ATTN_MAPS > 1 && ATTN_GATHER
#pragma unroll
    for (int map = 0; map < kMaps; ++map) {
#if ATTN_VARLEN
      load_pair<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index][map], tile.kv_begin,
                                     block, announced.second, kMaps * h_kv + map);
#else
      load_pair<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index][map], block,
                                     announced.second, kMaps * h_kv + map, tile.b);
#endif
    }
#elif ATTN_MAPS > 1
#if ATTN_VARLEN
    const int row = tile.kv_begin + block * kTileKv, batch = 0;
#else
    const int row = block * kTileKv, batch = tile.b;
#endif
#pragma unroll
    for (int map = 0; map < kMaps; ++map) {
      load_rows<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index][map], kTileKv, row,
                                     kMaps * h_kv + map, batch, kEvictLast);
    }
#elif ATTN_GATHER && ATTN_VARLEN
    load_pair<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index], tile.kv_begin, block,
                                   announced.second, h_kv);
#elif ATTN_VARLEN
    load_rows<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index], kTileKv,
                                   tile.kv_begin + block * kTileKv, h_kv, 0, kEvictLast);
#elif ATTN_GATHER
    load_pair<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index], block,
                                   announced.second, h_kv, tile.b);
#else
    load_rows<kChunksQk, kChunkQk>(maps.k, full, shared.key[key_slot.index], kTileKv,
                                   block * kTileKv, h_kv, tile.b, kEvictLast);
#endif
#endif
  }
#if ATTN_PAGE_ROWS
  __syncwarp();
  copy_keys(shared, key_slot.index, h_kv, p);
#elif ATTN_PAGE_SIZE && ATTN_MAPS > 1
#pragma unroll 1
  for (int map = 0; map < kMaps; ++map) {
    load_page<kChunksQk, kChunkQk>(maps.k, shared.key_full[key_slot.index],
                                   shared.key[key_slot.index][map], copy, kMaps * h_kv + map);
  }
#elif ATTN_PAGE_SIZE
  load_page<kChunksQk, kChunkQk>(maps.k, shared.key_full[key_slot.index],
                                 shared.key[key_slot.index], copy, h_kv);
#endif
  __syncwarp();
  key_slot.advance();
}

#if !ATTN_SHARE_KV && !ATTN_VALUES_APART
__device__ __forceinline__ void Producer::load_value(int block) {
#if ATTN_PAGE_SIZE && !ATTN_PAGE_ROWS && ATTN_GATHER
  const PageCopy copy = page_copy(tile, block, beside, p);
#elif ATTN_PAGE_SIZE && !ATTN_PAGE_ROWS
  const PageCopy copy = page_copy(tile, block, p);
#endif
  barrier_wait(shared.value_empty[value_slot.index], value_slot.parity ^ 1);
#if ATTN_PAGE_ROWS
  copy_values(shared, value_slot.index, tile, p);
#else
  if (issues) {
    uint64_t& full = shared.value_full[value_slot.index];
#if !ATTN_PAGE_SIZE
    uint8_t* const values = shared.value[value_slot.index];
#endif
    barrier_expect(full, kValueBytes);
#if !ATTN_PAGE_SIZE
#if ATTN_GATHER && ATTN_VARLEN
    load_pair<kChunksV, kChunkV>(maps.v, full, values, tile.kv_begin, block, beside, h_kv);
#elif ATTN_GATHER
    load_pair<kChunksV, kChunkV>(maps.v, full, values, block, beside, h_kv, tile.b);
#else
#if ATTN_VARLEN
    const int row = tile.kv_begin + block * kTileKv, batch = 0;
#else
    const int row = block * kTileKv, batch = tile.b;
#endif
#if ATTN_VALUE_PARTS > 1
    load_rows<kChunksV, kChunkV>(maps.v, full, values, kTileKv, row, h_kv, batch, kEvictLast,
                                 tile.part * kHeadDimV);
#else
    load_rows<kChunksV, kChunkV>(maps.v, full, values, kTileKv, row, h_kv, batch, kEvictLast);
#endif
#endif
#endif
  }
#if ATTN_PAGE_SIZE && ATTN_VALUE_PARTS > 1
  load_page<kChunksV, kChunkV>(maps.v, shared.value_full[value_slot.index],
                               shared.value[value_slot.index], copy, h_kv, tile.part * kHeadDimV);
#elif ATTN_PAGE_SIZE
  load_page<kChunksV, kChunkV>(maps.v, shared.value_full[value_slot.index],
                               shared.value[value_slot.index], copy, h_kv);
#endif
#endif
  __syncwarp();
  value_slot.advance();
}
#endif
#endif
