// What the producer loads of keys far behind a tile: they and their state come through the slots of
// keys and of values in turn.
#pragma once

template <typename Load>
__device__ __forceinline__ void Producer::fill(bool in_values, const Load& load) {
  const bool of_values = kFarInValues && in_values;
  RingSlot<kStages>& slot = of_values ? value_slot : key_slot;
  uint64_t& empty = of_values ? shared.value_empty[slot.index] : shared.key_empty[slot.index];
  uint64_t& full = of_values ? shared.value_full[slot.index] : shared.key_full[slot.index];
  barrier_wait(empty, slot.parity ^ 1);
  if (issues) {
    barrier_expect(full, kKeyBytes);
    load(full, of_values ? shared.value[slot.index] : shared.key[slot.index]);
  }
  __syncwarp();
  slot.advance();
}

#if ATTN_FAR_SUMS
__device__ __forceinline__ void Producer::load_far_key(bool in_values, int block) {
  fill(in_values, [&](uint64_t& full, uint8_t* slot) {
#if ATTN_VARLEN
    load_rows<kChunksQk, kChunkQk>(maps.k, full, slot, kTileKv, tile.kv_begin + block * kTileKv,
                                   h_kv, 0, kEvictLast);
#else
    load_rows<kChunksQk, kChunkQk>(maps.k, full, slot, kTileKv, block * kTileKv, h_kv, tile.b,
                                   kEvictLast);
#endif
  });
}

#endif
// At the end of `chunks` chunks.
__device__ __forceinline__ void Producer::load_state(int chunks) {
#if ATTN_VALUE_PARTS > 1
  const uint8_t* const state = p.states + (first_state(tile, p) + chunks - 1) * kStateBytes +
                               tile.part * (kHeadDimV / 64) * kKeyBytes;
#else
  const uint8_t* const state = p.states + (first_state(tile, p) + chunks - 1) * kStateBytes;
#endif
#pragma unroll
  for (int i = 0; i < kStateSlots; ++i) {
    fill(i % 2 == 1, [&](uint64_t& full, uint8_t* slot) {
      bulk_load(full, slot,
                state + i / kStateRowBlocks * kStatePartBytes + i % kStateRowBlocks * kKeyBytes,
                kKeyBytes);
    });
  }
}

// Of the first `count` blocks, of which the first one's keys are on their way if rows sum them.
__device__ __forceinline__ void Producer::load_far_keys(int count) {
#if ATTN_PARTS_IN_TURN
  // Their sums are those of the first part.
#pragma unroll 1
  for (int block = tile.part == 0 ? 1 : count; block < count; block += 2) {
    load_far_key(true, block);
    if (block + 1 < count) load_far_key(false, block + 1);
  }
#elif ATTN_FAR_SUMS
#pragma unroll 1
  for (int block = 1; block < count; block += 2) {
    load_far_key(true, block);
    if (block + 1 < count) load_far_key(false, block + 1);
  }
#endif
  wait_for_stream();  // the states
  if (count > 0) load_state(count / kChunkBlocks);
}
