// Two sides of the output's columns: warpgroups that have the same rows. They weigh the blocks by
// turns, each for both, and leave the weights in shared memory, with what the rows have come to.
#pragma once

// What the other side has left, once it is there.
__device__ __forceinline__ Factors Consumer::take_rows() {
  take_turn();
  const RowsSoFar& rows_so_far = shared.rows_so_far[thread];
  Factors factors;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    reductions[r] = rows_so_far.reductions[r];
    factors.row[r] = rows_so_far.factors[r];
  }
#if ATTN_FIXED_MAX
  factors.shrink = rows_so_far.shrink;
#if ATTN_LARGE_SCORES
  fixed_limit = rows_so_far.fixed_limit;
#endif
#endif
  return factors;
}

// For the other side, which has read what this one left before, and left its own.
__device__ __forceinline__ void Consumer::leave_rows(const Factors& factors) {
  RowsSoFar& rows_so_far = shared.rows_so_far[thread];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    rows_so_far.reductions[r] = reductions[r];
    rows_so_far.factors[r] = factors.row[r];
  }
#if ATTN_FIXED_MAX
  rows_so_far.shrink = factors.shrink;
#if ATTN_LARGE_SCORES
  rows_so_far.fixed_limit = fixed_limit;
#endif
#endif
  hand_over_weights();
  pass_turn();
}

// O += P V of the block, whoever has weighed it.
__device__ __forceinline__ void Consumer::add_values(const Cursor& cursor, const Factors& factors) {
#if !ATTN_ROW_FREE
  rescale(output, factors);
#endif
#if ATTN_CLEARS_VALUES
  clear_behind(cursor.block());
#endif
  start_output();
  end_output();
}

__device__ __forceinline__ void Consumer::weigh_for_both(Cursor& cursor, bool first) {
  start_next(cursor);
#if ATTN_LEVEL
  if (!first) find_level(cursor);
#endif
  wgmma_wait<0>();
  pin(scores);
  const Factors factors = weigh_block(cursor, first);
  release_key();
  leave_rows(factors);
  add_values(cursor, factors);
}

__device__ __forceinline__ void Consumer::let_other_weigh(Cursor& cursor) {
  barrier_wait(shared.key_full[key_slot.index], key_slot.parity);
#if ATTN_ROW_BY_ROW
  fence_async_proxy();  // threads copied the keys
#endif
#if ATTN_WALK
  cursor.visit = visit_of_slot();
#else
  cursor.next();
#endif
  release_key();
  add_values(cursor, take_rows());
}

__device__ __forceinline__ void Consumer::visit_blocks(Cursor cursor) {
#if ATTN_TABLE_BYTES
  finish_tables();
#endif
  bool first = true;
  if (warpgroup % kSides == 1 && cursor.has_more()) {
    let_other_weigh(cursor);
    first = false;
  }
#pragma unroll 1
  while (cursor.has_more()) {
    weigh_for_both(cursor, first);
    first = false;
    if (cursor.has_more()) let_other_weigh(cursor);
  }
  recall_tile();
}
