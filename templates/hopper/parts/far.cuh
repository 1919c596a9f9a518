// Keys far behind a tile: their sums, and their part of the output.
#pragma once

#if ATTN_FAR_QUERIES
// The warpgroup's queries in registers: a product of 64 keys that had both operands in shared
// memory would take all that it brings.
using Queries = uint32_t[kStepsQk][4];
__device__ __forceinline__ void load_queries(Queries& queries, const uint8_t* tile) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    load_matrices(queries[step], tile + swizzled<kChunkQk>(64, named_row(), 2 * step + lane / 16));
  }
}

// S = Q K^T of a slot; asynchronous. K are keys, or 64 rows of a state: added to S unless `first`.
__device__ __forceinline__ void multiply_far(Scores& scores, const Queries& queries, uint64_t key,
                                             bool first) {
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    wgmma_far(scores, queries[step], key + step_offset<kChunkQk>(kTileKv, step),
              step > 0 || !first);
  }
}

#endif
#if ATTN_HEAD_DIM_QK > 128
// The same with queries in shared memory: a state's products leave no room for so wide ones.
__device__ __forceinline__ void multiply_far(Scores& scores, uint64_t query, uint64_t key,
                                             bool first) {
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    wgmma_scores(scores, query + step_offset<kChunkQk>(64, step),
                 key + step_offset<kChunkQk>(kTileKv, step), step > 0 || !first);
  }
}

#endif
// Far keys and the rows of a state as they come: through the slots of keys and of values in turn.
struct FarSlots {
  Consumer& consumer;
  const uint64_t in_values;                // the first slot of values, with keys in it
  RingSlot<kStages> read_key, read_value;  // the first still in use

  __device__ __forceinline__ explicit FarSlots(Consumer& c)
      : consumer(c),
        in_values(kept(row_descriptor<kChunkQk>(c.shared.value[0]))),
        read_key(c.key_slot),
        read_value(c.value_slot) {}

  // The operand that comes next, once it is there.
  __device__ __forceinline__ uint64_t next(bool of_values) {
    Shared& shared = consumer.shared;
    const bool by_values = kFarInValues && of_values;
    RingSlot<kStages>& slot = by_values ? consumer.value_slot : consumer.key_slot;
    uint64_t tile = by_values ? in_values + slot.index * (kValueBytes / 16)
                              : consumer.keys + slot.index * (kKeyBytes / 16);
    pin(tile);
    barrier_wait(by_values ? shared.value_full[slot.index] : shared.key_full[slot.index],
                 slot.parity);
    slot.advance();
    return tile;
  }

  __device__ __forceinline__ void release(bool of_values) {
    Shared& shared = consumer.shared;
    if (kFarInValues && of_values) {
      if (consumer.lane == 0) barrier_arrive(shared.value_empty[read_value.index]);
      read_value.advance();
    } else {
      if (consumer.lane == 0) barrier_arrive(shared.key_empty[read_key.index]);
      read_key.advance();
    }
  }
};

#if ATTN_FAR_SUMS
// What rows sum over the first `count` blocks. Nothing follows a product of these but sums, so that
// two of them are on their way at a time and no warpgroup waits for its turn.
template <typename Query>
__device__ __forceinline__ void Consumer::sum_far_keys(int count, FarSlots& slots,
                                                       const Query& query) {
  const auto start = [&](Scores& products, bool of_values) {
    const uint64_t key = slots.next(of_values);
    pin(products);
    wgmma_fence();
    multiply_far(products, query, key, true);
    wgmma_commit();
  };
  FarSums sums[2];
  const float shrink = decay(rows[0], 8, p.inputs);
  const auto sum = [&](Scores& products, bool of_values) {
    pin(products);
    slots.release(of_values);
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
}

#endif
// The output of far keys, in the unit of their state: the product of the queries with that.
template <typename Query>
__device__ __forceinline__ void Consumer::multiply_state(FarSlots& slots, const Query& query) {
#pragma unroll
  for (int i = 0; i < kStateSlots; ++i) {
    Scores& columns = reinterpret_cast<Scores&>(output[i % kStateRowBlocks * (kTileKv / 8)]);
    const uint64_t state_rows = slots.next(i % 2 == 1);
    pin(columns);
    wgmma_fence();
    multiply_far(columns, query, state_rows, i < kStateRowBlocks);
    wgmma_commit();
    wgmma_wait<0>();
    pin(columns);
    slots.release(i % 2 == 1);
  }
}

#if ATTN_KEY_SUMS
// Of the thread's rows and columns the products with the sum of the keys, of which `load` gives two
// neighbouring columns.
template <typename Load>
__device__ __forceinline__ float2 multiply_key_sum(const uint8_t* query_tile, const Load& load) {
  const int lane = threadIdx.x % 32;
  float2 products = {};
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    uint32_t query[4];
    load_matrices(query, query_tile + swizzled<kChunkQk>(64, named_row(), 2 * step + lane / 16));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 sum = load(16 * step + 8 * i + lane % 4 * 2);
      products.x += low_half(query[2 * i]) * sum.x + high_half(query[2 * i]) * sum.y;
      products.y += low_half(query[2 * i + 1]) * sum.x + high_half(query[2 * i + 1]) * sum.y;
    }
  }
  return products;
}

#endif
// Of the first `count` blocks the sums, and from their state the output, which begins at 0 where no
// keys are far.
__device__ __forceinline__ void Consumer::add_far_keys(int count) {
  if (count == 0) {
    clear(output);
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
  FarSlots slots(*this);
#if ATTN_PARTS_IN_TURN
  if (tile.part == 0) {
    sum_far_keys(count, slots, in_registers);
    of_far_keys[0] = reductions[0];
    of_far_keys[1] = reductions[1];
  } else {
    reductions[0] = of_far_keys[0];
    reductions[1] = of_far_keys[1];
  }
#elif ATTN_FAR_SUMS
  sum_far_keys(count, slots, in_registers);
#endif
#if ATTN_HEAD_DIM_QK > 128
  multiply_state(slots, query);
#else
  multiply_state(slots, in_registers);
#endif
  key_there = barrier_test(shared.key_full[key_slot.index], key_slot.parity);
  value_there = barrier_test(shared.value_full[value_slot.index], value_slot.parity);
#if ATTN_KEY_WEIGHTS || ATTN_KEY_SUMS
  // There since the producer has waited for the kernel that makes states.
  const int64_t place = first_state(tile, p) + count / kChunkBlocks - 1;
#endif
#if ATTN_KEY_WEIGHTS
  const float unit = __ldcg(&p.units[place]);
#endif
#if ATTN_KEY_SUMS
  const float* const key_sum = key_sum_of(p.states + place * kStateBytes);
  const float2 products = multiply_key_sum(query_tile, [&](int column) {
    return __ldcg(reinterpret_cast<const float2*>(key_sum + column));
  });
#endif
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#if ATTN_KEY_WEIGHTS
    const float weight = weight_of_one(rows[r], unit, p.inputs);
#else
    const float weight = weight_of_one(rows[r], count * kTileKv, p.inputs);
#endif
#if ATTN_KEY_SUMS
    sum_far(weight * (r == 0 ? products.x : products.y), reductions[r]);
#endif
#if ATTN_FAR_COUNTS
    count_far(count * kTileKv / 4, reductions[r]);
#endif
#pragma unroll
    for (int j = 0; j < kHeadDimV / 8; ++j) {
      output[j][r][0] *= weight;
      output[j][r][1] *= weight;
    }
  }
}
