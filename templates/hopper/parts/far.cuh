// Keys far behind a tile: their sums, and their part of the output.
#pragma once

#if ATTN_FAR_QUERIES
// The warpgroup's queries in registers: a product of 64 keys that had both operands in shared
// memory would take all that it brings.
using Queries = uint32_t[kStepsQk][4];
__device__ __forceinline__ void load_queries(Queries& queries, const uint8_t* tile) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    load_matrices(queries[step], tile + swizzled<kChunkQk>(64, row, 2 * step + lane / 16));
  }
}

// S = Q K^T of a slot; asynchronous. K are keys, or 64 rows of a state: added to S unless `first`.
__device__ __forceinline__ void multiply_far(Scores& scores, const Queries& queries, uint64_t key,
                                             bool first) {
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    constexpr int kSteps = kChunkQk / 16;
    wgmma_far(scores, queries[step],
              key + step / kSteps * (chunk_bytes(kTileKv, kChunkQk) / 16) + step % kSteps * 2,
              step > 0 || !first);
  }
}

#endif
#if ATTN_HEAD_DIM_QK > 128
// The same of 64 rows of a state, whose products leave no room for queries in registers.
__device__ __forceinline__ void multiply_state(Scores& columns, uint64_t query, uint64_t rows,
                                               bool first) {
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    constexpr int kSteps = kChunkQk / 16;
    wgmma_scores(columns,
                 query + step / kSteps * (chunk_bytes(64, kChunkQk) / 16) + step % kSteps * 2,
                 rows + step / kSteps * (chunk_bytes(kTileKv, kChunkQk) / 16) + step % kSteps * 2,
                 step > 0 || !first);
  }
}

#endif
// Of the first `count` blocks the sums, and from their state the output. Nothing follows a product
// of these but sums, so that two of them are on their way at a time and no warpgroup waits for its
// turn. Without far keys the output begins at 0.
__device__ __forceinline__ void Consumer::add_far_keys(int count) {
  if (count == 0) {
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][0][0] = output[j][0][1] = output[j][1][0] = output[j][1][1] = 0;
    }
    return;
  }
  const uint8_t* const query_tile = shared.query[query_slot.index][warpgroup];
#if ATTN_FAR_QUERIES
  Queries in_registers;
  load_queries(in_registers, query_tile);
#endif
#if ATTN_HEAD_DIM_QK > 128
  const uint64_t query = kept(row_descriptor<kChunkQk>(query_tile));
#endif
  const uint64_t in_values = kept(row_descriptor<kChunkQk>(shared.value[0]));
  RingSlot<kStages> read_key = key_slot, read_value = value_slot;  // the first still in use
  // The operand that comes next, once it is there.
  const auto next = [&](bool of_values) {
    RingSlot<kStages>& slot = kFarInValues && of_values ? value_slot : key_slot;
    uint64_t tile = kFarInValues && of_values ? in_values + slot.index * (kValueBytes / 16)
                                              : keys + slot.index * (kKeyBytes / 16);
    pin(tile);
    barrier_wait(
        kFarInValues && of_values ? shared.value_full[slot.index] : shared.key_full[slot.index],
        slot.parity);
    slot.advance();
    return tile;
  };
  const auto release = [&](bool of_values) {
    if (kFarInValues && of_values) {
      if (lane == 0) barrier_arrive(shared.value_empty[read_value.index]);
      read_value.advance();
    } else {
      if (lane == 0) barrier_arrive(shared.key_empty[read_key.index]);
      read_key.advance();
    }
  };
#if ATTN_FAR_SUMS
  const auto start = [&](Scores& products, bool of_values) {
    const uint64_t key = next(of_values);
    pin(products);
    wgmma_fence();
    multiply_far(products, in_registers, key, true);
    wgmma_commit();
  };
  FarSums sums[2];
  const float shrink = decay(rows[0], 8, p.inputs);
  const auto sum = [&](Scores& products, bool of_values) {
    pin(products);
    release(of_values);
#pragma unroll
    for (int r = 0; r < 2; ++r) add_far(products, r, shrink, sums[r]);
  };
  // None is on its way from chunk to chunk: ptxas follows them only as far as a loop's end.
  Scores others;
#pragma unroll 1
  for (int chunk = 0; chunk < count / kChunkBlocks; ++chunk) {
    start(scores, false);
#pragma unroll
    for (int i = 0; i < kChunkBlocks; i += 2) {
      start(others, true);
      wgmma_wait<1>();
      sum(scores, false);
      if (i + 2 < kChunkBlocks) {
        start(scores, false);
        wgmma_wait<1>();
      } else {
        wgmma_wait<0>();
      }
      sum(others, true);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    absorb_far(sums[r], count * kTileKv - 8 + lane % 4 * 2, rows[r], p.inputs, reductions[r]);
  }
#endif
#pragma unroll
  for (int i = 0; i < kStateSlots; ++i) {
    Scores& columns = reinterpret_cast<Scores&>(output[i % kStateRowBlocks * (kTileKv / 8)]);
    const uint64_t state_rows = next(i % 2 == 1);
    pin(columns);
    wgmma_fence();
#if ATTN_HEAD_DIM_QK > 128
    multiply_state(columns, query, state_rows, i < kStateRowBlocks);
#else
    multiply_far(columns, in_registers, state_rows, i < kStateRowBlocks);
#endif
    wgmma_commit();
    wgmma_wait<0>();
    pin(columns);
    release(i % 2 == 1);
  }
  key_there = barrier_test(shared.key_full[key_slot.index], key_slot.parity);
  value_there = barrier_test(shared.value_full[value_slot.index], value_slot.parity);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float weight = weight_of_one(rows[r], count * kTileKv, p.inputs);
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][r][0] *= weight;
      output[j][r][1] *= weight;
    }
  }
}
