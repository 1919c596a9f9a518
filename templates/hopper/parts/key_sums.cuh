// The sums of keys: a block's are of kPieceColumns columns, at the ends of chunks of keys.
#pragma once

#if !ATTN_KEY_WEIGHTS
// The weights that the keys of a chunk have at its end, for all threads of the warpgroup.
__device__ __forceinline__ void hand_over_weights(StateShared& shared, const Row& row,
                                                  const Params& p) {
#pragma unroll
  for (int i = 0; i < kChunkKeys / 128; ++i) {
    const int key = 128 * i + threadIdx.x;
    shared.weight[key] = decay(row, kChunkKeys - key, p.inputs);
  }
  named_sync(1, 128);
}

#endif
// A lane's two columns of each 64, over its warp's keys.
using KeySums = float2[kPieceChunks];

__device__ __forceinline__ void add_keys(KeySums& sums, const uint8_t* keys, const float* weights) {
  constexpr int kOwn = kTileKv / 4;  // keys of a warp
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * kOwn;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const float weight = weights[first + i];
    const uint8_t* const row = keys + swizzled<64>(kTileKv, first + i, lane / 4) + lane % 4 * 4;
#pragma unroll
    for (int chunk = 0; chunk < kPieceChunks; ++chunk) {
      const uint32_t pair =
          *reinterpret_cast<const uint32_t*>(row + chunk * chunk_bytes(kTileKv, 64));
      sums[chunk].x += weight * low_half(pair);
      sums[chunk].y += weight * high_half(pair);
    }
  }
}

// The warps' sums together to their place in memory. All threads of the warpgroup call.
__device__ __forceinline__ void store_key_sums(StateShared& shared, const KeySums& sums,
                                               float* to) {
  float* const of_warps = reinterpret_cast<float*>(shared.state[0]);  // [4, kPieceColumns]
  float* const own = of_warps + threadIdx.x / 32 * kPieceColumns + threadIdx.x % 32 * 2;
#pragma unroll
  for (int chunk = 0; chunk < kPieceChunks; ++chunk) {
    *reinterpret_cast<float2*>(own + 64 * chunk) = sums[chunk];
  }
  named_sync(1, 128);
  if (threadIdx.x < kPieceColumns) {
    const float* const column = of_warps + threadIdx.x;
    to[threadIdx.x] = (column[0] + column[kPieceColumns]) +
                      (column[2 * kPieceColumns] + column[3 * kPieceColumns]);
  }
  named_sync(1, 128);  // before the next ones
}

__device__ __forceinline__ void sum_keys(StateShared& shared, const StatePlace& place,
                                         const Row& row, int chunks, const Params& p,
                                         RingSlot<kSliceStages>& slot) {
#if ATTN_KEY_WEIGHTS
  KeyWeights weights;
  weights.load(0, row, p.inputs);
#else
  hand_over_weights(shared, row, p);
  const float chunk_left = decay(row, kChunkKeys, p.inputs);
#endif
  KeySums sums = {};
  uint8_t* state = p.states + first_state(row, p) * kStateBytes;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
#if ATTN_KEY_WEIGHTS
    const float chunk_left = weights.hand_over(shared);
    weights.load(chunk + 1, row, p.inputs);
#endif
#pragma unroll
    for (float2& sum : sums) {
      sum.x *= chunk_left;
      sum.y *= chunk_left;
    }
#pragma unroll 1
    for (int slice = 0; slice < kChunkBlocks; ++slice) {
      barrier_wait(shared.full[slot.index], slot.parity);
      add_keys(sums, shared.key[slot.index], shared.weight + slice * kTileKv);
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(shared.empty[slot.index]);
      slot.advance();
    }
    store_key_sums(shared, sums, key_sum_of(state) + place.column_block * kPieceColumns);
    state += kStateBytes;
  }
}
