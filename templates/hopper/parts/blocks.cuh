// The order of the products of a tile's blocks.
#pragma once

#if ATTN_WALK
// The block in the key slot, once its keys are there.
__device__ __forceinline__ Visit Consumer::visit_of_slot() const {
  return {shared.visit[key_slot.index][lane % 2]};
}

#endif
#if !ATTN_SKIP
// Moves the cursor to the next block, and starts its scores.
__device__ __forceinline__ void Consumer::start_next(Cursor& cursor) {
#if !ATTN_MASK_AHEAD
  start_scores();
#endif
#if ATTN_WALK
  cursor.visit = visit_of_slot();
#else
  cursor.next();
#endif
#if ATTN_MASK_AHEAD
  start_scores(cursor);
#endif
}

#endif
#if ATTN_INTRA_OVERLAP
// A block's scores to weights, while the product of the block before it still runs.
__device__ __forceinline__ void Consumer::weigh_beside_output(const Cursor& cursor) {
#if ATTN_BIAS
  find_biases(cursor);
#endif
#if ATTN_STRIPS
  fill_strips(cursor);
#endif
#if ATTN_LEVEL
  find_level(cursor);
#endif
  wgmma_wait<1>();
  pin(scores);
  const Factors factors = weigh_block(cursor, false);
  release_key();
  end_output();
#if !ATTN_ROW_FREE
  rescale(output, factors);
#endif
  hand_over_weights();
}

#endif
#if ATTN_SKIP
// A block that only other warpgroups keep is let pass. Nothing is pending then, so that slots come
// free in order.
__device__ __forceinline__ void Consumer::visit_blocks(Cursor cursor) {
  bool first = true;
#pragma unroll 1
  while (cursor.has_more()) {
    barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
    cursor.visit = visit_of_slot();
    if (!cursor.visit.keeps(ATTN_KEEPER)) {
      release_key();
#if !ATTN_SHARE_KV
      barrier_wait(shared.value_full[value_slot.index], value_slot.parity);
#endif
      release_value();
      continue;
    }
    start_scores();
#if ATTN_TABLE_BYTES
    if (first) finish_tables();
#endif
#if ATTN_BIAS
    find_biases(cursor);
#endif
#if ATTN_STRIPS
    fill_strips(cursor);
#endif
#if ATTN_LEVEL
    if (!first) find_level(cursor);
#endif
    wgmma_wait<0>();
    pin(scores);
    const Factors factors = weigh_block(cursor, first);
    first = false;
    release_key();
#if !ATTN_ROW_FREE
    rescale(output, factors);
#endif
    hand_over_weights();
#if ATTN_CLEARS_VALUES
    clear_behind(cursor.block());
#endif
#if ATTN_INTRA_OVERLAP
    // As long as the next one is kept too, its S runs under this block's softmax.
#pragma unroll 1
    while (cursor.has_more()) {
      barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
      if (!visit_of_slot().keeps(ATTN_KEEPER)) break;
      cursor.visit = visit_of_slot();
      start_scores();
      start_output();
      weigh_beside_output(cursor);
    }
#endif
    start_output();
    end_output();
  }
  recall_tile();
}
#elif ATTN_INTRA_OVERLAP
// The next block's S runs under this block's softmax, and this block's PV under the next one's.
__device__ __forceinline__ void Consumer::visit_blocks(Cursor cursor) {
  if (!cursor.has_more()) return;
  start_next(cursor);
#if ATTN_PING_PONG
  pass_turn();
#endif
#if ATTN_ROW_CONSTANTS && !ATTN_FAR
  set_row_constants();  // loads pass under the first product
#endif
#if ATTN_TABLE_BYTES
  finish_tables();
#endif
#if ATTN_BIAS
  find_biases(cursor);
#endif
#if ATTN_STRIPS
#if !ATTN_WALK && ATTN_VALUE_STRIPS
  compute_strips(cursor.block());
#endif
  fill_strips(cursor);
#endif
  wgmma_wait<0>();
  pin(scores);
  weigh_block(cursor, true);
  release_key();
  hand_over_weights();
#if ATTN_CLEARS_VALUES && !ATTN_ASCENDING
  clear_behind(cursor.block());
#endif
#pragma unroll 1
  while (cursor.has_more()) {
    start_next(cursor);
    start_output();
#if ATTN_PING_PONG
    pass_turn();
#endif
    weigh_beside_output(cursor);
#if ATTN_CLEARS_VALUES && ATTN_NEAREST_FIRST
    clear_behind(cursor.block());
#endif
  }
#if ATTN_CLEARS_VALUES && ATTN_ASCENDING
  clear_behind(cursor.block());
#endif
  start_output();
  recall_tile();
  end_output();
}
#elif ATTN_SIDES == 1
// A block's two products one after the other, beside other warpgroups' weights.
__device__ __forceinline__ void Consumer::visit_blocks(Cursor cursor) {
#pragma unroll 1
  for (bool first = true; cursor.has_more(); first = false) {
    start_next(cursor);
#if ATTN_TABLE_BYTES
    if (first) finish_tables();
#endif
#if ATTN_BIAS
    find_biases(cursor);
#endif
#if ATTN_STRIPS
#if !ATTN_WALK && ATTN_VALUE_STRIPS
    if (first) compute_strips(cursor.block());
#endif
    fill_strips(cursor);
#endif
#if ATTN_LEVEL
    if (!first) find_level(cursor);
#endif
    wgmma_wait<0>();
    pin(scores);
#if ATTN_PING_PONG
    pass_turn();
#endif
    const Factors factors = weigh_block(cursor, first);
    release_key();
#if !ATTN_ROW_FREE
    rescale(output, factors);
#endif
    hand_over_weights();
#if ATTN_CLEARS_VALUES
    clear_behind(cursor.block());
#endif
    start_output();
    end_output();
  }
  recall_tile();
}
#endif
