#if ATTN_VARLEN
// The kernel before the main one: the states at the ends of chunks of keys. A block makes 64 rows
// of a head's states, kPieceColumns of their columns, and goes over the keys of its sequences.
#else
// The kernel before the main one: the states at the ends of chunks of keys. A block makes 64 rows
// of a batch's and head's states, kPieceColumns of their columns, and goes over its keys.
#endif
#pragma once

using StatePiece = float[kPieceColumns / 8][2][2];  // rows are columns of the values

// Of a tile's columns: four 8x8 matrices of 16-bit elements, transposed.
__device__ __forceinline__ void load_transposed(uint32_t (&x)[4], const uint8_t* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(row)));
}

__device__ __forceinline__ void bulk_store(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}

// What its high part leaves of a state.
template <int kGroups>
__device__ __forceinline__ void take_low_part(float (&low)[kGroups][2][2],
                                              const float (&x)[kGroups][2][2]) {
#pragma unroll
  for (int j = 0; j < kGroups; ++j) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const uint32_t high = pack(x[j][r][0], x[j][r][1]);
      low[j][r][0] = x[j][r][0] - low_half(high);
      low[j][r][1] = x[j][r][1] - high_half(high);
    }
  }
}

using StateValues = uint32_t[kTileKv / 16][4];

#if ATTN_KEY_WEIGHTS || ATTN_SCAN
// A slice's values as the state has them, columns first, times their keys' weights.
__device__ __forceinline__ void load_weighted(StateValues& values, const uint8_t* slice,
                                              const float* weights) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int step = 0; step < kTileKv / 16; ++step) {
    const int key = 16 * step + lane / 16 * 8 + lane % 8;
    load_transposed(values[step], slice + swizzled<64>(kTileKv, key, 2 * warp + lane / 8 % 2));
    const float* const own = weights + 16 * step + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 weight = *reinterpret_cast<const float2*>(own + i / 2 * 8);
      values[step][i] =
          pack(low_half(values[step][i]) * weight.x, high_half(values[step][i]) * weight.y);
    }
  }
}
#endif
#if !ATTN_KEY_WEIGHTS
// A slice's values as the state has them, columns first, and what is left of them at the end of the
// chunk: `slice_left` of the slice's end, `step_left` of what was left sixteen keys later, and
// `step_end`, at the end of sixteen keys, of the thread's.
__device__ __forceinline__ void load_decayed(StateValues& values, const uint8_t* slice,
                                             float slice_left, float step_left,
                                             const float (&step_end)[2][2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float left[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) left[i / 2][i % 2] = step_end[i / 2][i % 2] * slice_left;
#pragma unroll
  for (int step = kTileKv / 16 - 1; step >= 0; --step) {
    const int key = 16 * step + lane / 16 * 8 + lane % 8;
    load_transposed(values[step], slice + swizzled<64>(kTileKv, key, 2 * warp + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[step][i] = pack(low_half(values[step][i]) * left[i / 2][0],
                             high_half(values[step][i]) * left[i / 2][1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) left[i / 2][i % 2] *= step_left;
  }
}
#endif

// A piece of a state to its place in memory. All threads of the warpgroup call.
__device__ __forceinline__ void store_state(StateShared& shared, const StatePiece& x, uint8_t* to) {
  if (threadIdx.x == 0) tma_store_wait();
  named_sync(1, 128);  // the last state has left
  store_fragments<64>(shared.state[0], x);
  StatePiece low;
  take_low_part(low, x);
  store_fragments<64>(shared.state[1], low);
  fence_async_proxy();
  named_sync(1, 128);
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int part = 0; part < kStateParts; ++part) {
    bulk_store(to + part * kStatePartBytes, shared.state[part], kPieceBytes);
  }
}

// Of the row's keys, whose chunks are so many. `slot`: the next slice's.
__device__ __forceinline__ void add_slices(StateShared& shared, const StatePlace& place,
                                           const Row& row, int chunks, const Params& p,
                                           RingSlot<kSliceStages>& slot) {
  const int lane = threadIdx.x % 32;
#if ATTN_KEY_WEIGHTS
  KeyWeights<kChunkKeys> weights;
  weights.load(0, row, p.inputs);
  const bool leaves_units = threadIdx.x == 0 && place.row_block == 0 && place.column_block == 0;
#else
  // What is left, at the end of sixteen keys, of a thread's.
  float step_end[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    step_end[i / 2][i % 2] = decay(row, 16 - (i / 2 * 8 + lane % 4 * 2 + i % 2), p.inputs);
  }
  const float step_left = decay(row, 16, p.inputs), chunk_left = decay(row, kChunkKeys, p.inputs);
#endif

#if ATTN_KEY_SUMS
  const bool sums_keys = place.row_block < kKeySharers;
  KeySums<kKeySumColumns> key_sums(place.row_block * kKeySumColumns);
#if !ATTN_KEY_WEIGHTS
  leave_weights(shared, row, p);
#endif
#endif

  const uint64_t keys = kept(column_descriptor<64>(shared.key[0]));
  RingSlot<kSliceStages> read = slot;  // the first that is still in use
  StatePiece x = {};
  const auto prepare = [&](StateValues& values, int slice) {
    barrier_wait(shared.full[slot.index], slot.parity);
#if ATTN_KEY_WEIGHTS
    load_weighted(values, shared.value[slot.index], shared.weight + slice * kTileKv);
#else
    const float slice_left = decay(row, (kChunkBlocks - 1 - slice) * kTileKv, p.inputs);
    load_decayed(values, shared.value[slot.index], slice_left, step_left, step_end);
#endif
  };
#if ATTN_KEY_SUMS
  const auto multiply = [&](const StateValues& values, int slice) {
#else
  const auto multiply = [&](const StateValues& values, int) {
#endif
    const uint64_t key = keys + slot.index * (kPieceBytes / 16);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kTileKv / 16; ++step) {
      wgmma_state(x, values[step], key + step * (chunk_bytes(16, 64) / 16), 1);
    }
    wgmma_commit();
#if ATTN_KEY_SUMS
    if (sums_keys) key_sums.add(shared.key[slot.index], shared.weight + slice * kTileKv);
#endif
    slot.advance();
  };
  const auto release = [&] {
#if ATTN_KEY_SUMS
    __syncwarp();  // all lanes have read the slot
#endif
    if (lane == 0) barrier_arrive(shared.empty[read.index]);
    read.advance();
  };

  const int64_t first = first_state(row, p);
  uint8_t* state = p.states + first * kStateBytes + place.row_block * kKeyBytes +
                   place.column_block * kPieceBytes;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
#if ATTN_KEY_WEIGHTS
    const float chunk_left = weights.hand_over(shared);
    weights.load((chunk + 1) * kChunkKeys, row, p.inputs);
    if (leaves_units) p.units[first + chunk] = weights.unit;
#endif
#pragma unroll
    for (int j = 0; j < kPieceColumns / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) x[j][i / 2][i % 2] *= chunk_left;
    }
#if ATTN_KEY_SUMS
    key_sums.shrink(chunk_left);
#endif
    // A slice's product runs under the next one's values.
    StateValues values[2];
    prepare(values[0], 0);
    pin(x);
    multiply(values[0], 0);
#pragma unroll
    for (int slice = 1; slice < kChunkBlocks; ++slice) {
      prepare(values[slice % 2], slice);
      multiply(values[slice % 2], slice);
      wgmma_wait<1>();
      release();
    }
    wgmma_wait<0>();
    pin(x);
    release();

    store_state(shared, x, state);
#if ATTN_KEY_SUMS
    if (sums_keys) {
      key_sums.store(key_sum_of(p.states + (first + chunk) * kStateBytes) +
                     place.column_block * kPieceColumns);
    }
#endif
    state += kStateBytes;
  }
  if (threadIdx.x == 0) tma_store_wait();
}

// visit(row, chunks) for a row of what may have states, if its head has far keys.
template <typename Visit>
__device__ __forceinline__ void visit_row(Row row, int chunks, const Params& p,
                                          const Visit& visit) {
#if ATTN_ROW_CONSTANTS
  set_constants(row, p.inputs);
#endif
#if ATTN_FAR_MAY_FALL
  if (!has_far_keys(row, p)) return;
#endif
  visit(row, chunks);
}

// The same for all that the block makes states of.
template <typename Visit>
__device__ __forceinline__ void visit_rows(const Params& p, const Visit& visit) {
  const int plane = blockIdx.x / kStateBlocks, head = plane % kHeadsQ;
#if ATTN_VARLEN
  // Of the sequences, the longest first, one in so many.
  const int stride = gridDim.x / (kHeadsQ * kStateBlocks);
#pragma unroll 1
  for (int i = plane / kHeadsQ; i < p.batch; i += stride) {
    const Sequence sequence = p.sequences[i];
    if (2 * sequence.seq_kv < kFewestQueries) return;  // and those behind it have hardly more keys
    const int chunks = chunks_of(sequence, p);
    if (chunks > 0) visit_row(row_at(sequence.b, head, 0, sequence), chunks, p, visit);
  }
#else
  visit_row(row_at(plane / kHeadsQ, head, 0, p), p.chunks, p, visit);
#endif
}

__global__ void __launch_bounds__(kStateThreads)
    attention_forward_states(const __grid_constant__ TensorMaps maps,
                             const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  extern __shared__ __align__(1024) uint8_t memory[];
  StateShared& shared = *reinterpret_cast<StateShared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSliceStages; ++i) {
      barrier_init(shared.full[i], 1);
      barrier_init(shared.empty[i], 4);  // one arrival a warp
    }
    publish_barriers();
  }
  __syncthreads();
  wait_for_stream();
  call_next_kernel();  // not before: it may read and write what the kernels before this one did
  const int block = blockIdx.x % kStateBlocks, warp = uniform(threadIdx.x / 32);
  const StatePlace place{block % kPieceRowBlocks, block / kPieceRowBlocks};
  RingSlot<kSliceStages> slot;
  if (warp < 4) {
    visit_rows(
        p, [&](const Row& row, int chunks) { add_slices(shared, place, row, chunks, p, slot); });
  } else if (threadIdx.x % 32 == 0) {
    visit_rows(p, [&](const Row& row, int chunks) {
      load_slices(shared, maps, place, row, chunks * kChunkBlocks, slot);
    });
  }
}
