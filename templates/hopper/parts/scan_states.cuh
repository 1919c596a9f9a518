// The warpgroup of a scan that adds up the state, chunk after chunk.
#pragma once

struct ScanStates {
  ScanShared& shared;
  const Params& p;
  const uint64_t keys;          // the operand in the first slot
  RingSlot<kScanTurns> turn;    // the chunk's
  RingSlot<kScanStates> place;  // of the state that comes next
  RingSlot<2> taker;            // the warpgroup that takes it
  ScanColumns state[kChunksQk];
#if ATTN_KEY_WEIGHTS
  KeyWeights<kScanRows> weights;
#endif
#if ATTN_KEY_SUMS
  KeySums<kHeadDimQk> key_sums{0};
#endif

  __device__ __forceinline__ void visit(const Scan& scan) {
    const Row row = first_row_of(scan, p);
#if ATTN_KEY_WEIGHTS
    weights.unit = kLeastUnit;
    weights.load(0, row, p.inputs);
#endif
#if ATTN_KEY_SUMS
    key_sums.sum = {};
#endif
#pragma unroll
    for (ScanColumns& columns : state) clear(columns);
    // Behind the last chunk nobody is.
    const int last = (p.seq_q - 1) / kScanRows * kScanRows;
    hand_over();  // of no key, to the first chunk
#pragma unroll 1
    for (int first = 0; first < last; first += kScanRows) {
      shrink(hand_over_weights(row, first));
      add_keys();
      release();
      hand_over();
    }
    // Not before the slot is full: until then it is an earlier chunk's, whose queries may need it.
    barrier_wait(shared.pair_full[turn.index], turn.parity);
    release();
  }

  // The weights of a chunk's keys, for all threads. Returns what is left of the last state in the
  // unit of the next one.
  __device__ __forceinline__ float hand_over_weights(const Row& row, int first) {
#if ATTN_KEY_WEIGHTS
    const float left = weights.hand_over(shared);
    weights.load(first + kScanRows, row, p.inputs);
    return left;
#else
    // In the unit of the key behind them; if weights fall along the keys, of the first of all.
#if ATTN_FAR_MAY_FALL
    const bool falls = !has_far_keys(row, p);
#else
    const bool falls = false;
#endif
    if (falls || first == 0) {
      const int key = threadIdx.x % kScanRows;
      named_sync(1, 128);  // the last chunk's have been read
      shared.weight[key] = decay(row, (falls ? -first : kScanRows) - key, p.inputs);
      named_sync(1, 128);
    }
    return falls ? 1 : decay(row, kScanRows, p.inputs);
#endif
  }

  __device__ __forceinline__ void shrink(float left) {
#pragma unroll
    for (ScanColumns& columns : state) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) columns[j][i / 2][i % 2] *= left;
      }
    }
#if ATTN_KEY_SUMS
    key_sums.shrink(left);
#endif
  }

  __device__ __forceinline__ void add_keys() {
    barrier_wait(shared.pair_full[turn.index], turn.parity);
    const int slot = turn.index % kScanSlots;
    StateValues values;
    load_weighted(values, shared.value[slot], shared.weight);
    const uint64_t key = keys + slot * (kKeyBytes / 16);
#pragma unroll
    for (ScanColumns& columns : state) pin(columns);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kScanRows / 16; ++step) {
#pragma unroll
      for (int chunk = 0; chunk < kChunksQk; ++chunk) {
        const int offset = chunk * chunk_bytes(kScanRows, 64) + step * chunk_bytes(16, 64);
        wgmma_scan(state[chunk], values[step], key + offset / 16, 1);
      }
    }
    wgmma_commit();
#if ATTN_KEY_SUMS
    key_sums.add(shared.key[slot], shared.weight);
#endif
    wgmma_wait<0>();
#pragma unroll
    for (ScanColumns& columns : state) pin(columns);
  }

  __device__ __forceinline__ void release() {
#if ATTN_KEY_SUMS
    __syncwarp();  // all lanes have read the keys
#endif
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.pair_empty[turn.index % kScanSlots]);
    turn.advance();
  }

  // The state, as the sum of two numbers of 16 bits, to who has the next chunk's queries.
  __device__ __forceinline__ void hand_over() {
    barrier_wait(shared.state_empty[place.index], place.parity ^ 1);
#pragma unroll
    for (int chunk = 0; chunk < kChunksQk; ++chunk) {
      const int begin = chunk * chunk_bytes(kScanRows, 64);
      store_fragments<64>(shared.state[place.index][0] + begin, state[chunk]);
      ScanColumns low;
      take_low_part(low, state[chunk]);
      store_fragments<64>(shared.state[place.index][1] + begin, low);
    }
#if ATTN_KEY_SUMS
    key_sums.store(shared.key_sum[place.index]);
#endif
#if ATTN_KEY_WEIGHTS
    if (threadIdx.x == 0) shared.unit[place.index] = weights.unit;
#endif
    fence_async_proxy();
    barrier_arrive(shared.state_full[taker.index]);
    place.advance();
    taker.advance();
  }
};
