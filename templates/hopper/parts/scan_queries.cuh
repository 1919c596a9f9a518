// A warpgroup of a scan that has queries: those of every second chunk.
#pragma once

struct ScanQueries {
  ScanShared& shared;
  const Params& p;
  const int warpgroup;
  const uint64_t keys, values, states;  // operands in the first slots
  const int thread = threadIdx.x % 128, lane = thread % 32;
  RingSlot<kScanTurns> turn;   // the chunk's
  uint32_t state_parity = 0;   // of the warpgroup's next state
  uint32_t output_parity = 1;  // its place is free to begin with

  Row head;              // what the rows of a scan have in common
  Row rows[2], next[2];  // the thread's, of the chunk at hand and of the warpgroup's next
#if ATTN_KEY_STRIPS > 1
  float next_of_key[kKeyStrips];
#elif ATTN_KEY_STRIPS
  ATTN_KEY_VALUE next_of_key;
#endif
  Reductions reductions[2];
#if ATTN_KEY_SUMS
  float2 sums;  // of its rows, the queries' products with the sum of the keys before
#endif
#if ATTN_FAR_QUERIES
  Queries query;
#endif

  __device__ __forceinline__ void visit(const Scan& scan) {
    head = first_row_of(scan, p);
    prepare(is_own() ? 0 : kScanRows);
#pragma unroll 1
    for (int first = 0; first < p.seq_q; first += kScanRows) {
      if (is_own()) attend(first);
      turn.advance();
    }
  }

  __device__ __forceinline__ bool is_own() const { return turn.index % 2 == warpgroup; }
  __device__ __forceinline__ int slot() const { return turn.index % kScanSlots; }
  __device__ __forceinline__ int place() const { return warpgroup % kScanStates; }

  // A chunk that begins at row `first`.
  __device__ __forceinline__ void attend(int first) {
    begin_rows();
    Scores scores;
    ScanColumns output;
    start_products(scores, output);
    prepare(first + 2 * kScanRows);
#if ATTN_KEY_SUMS
    multiply_sum();
#endif
    wgmma_wait<1>();
    pin(scores);
    Factors factors;
    absorb_rows<true>(scores, first + lane % 4 * 2, rows, p.inputs, reductions, factors);
    Weights weights;
    pack_weights(weights, scores);
    wgmma_wait<0>();
    pin(output);
#if ATTN_KEY_SUMS || !ATTN_FAR_QUERIES
    release_query();
#endif
    take_far_keys(output, first);
    add_values(output, weights);
    finish(output, first);
  }

  __device__ __forceinline__ int first_row(int first) const {
    return first + thread / 32 * 16 + lane / 4;
  }

  // What the warpgroup's next chunk begins with, under the products of this one: inputs may take a
  // trip to memory.
  __device__ __forceinline__ void prepare(int first) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      next[r] = head;
      next[r].q_idx = next[r].q_pos = min(first_row(first) + 8 * r, p.seq_q - 1);
#if ATTN_QUERY_CONSTANTS
      set_constants(next[r], p.inputs);
#endif
    }
#if ATTN_KEY_STRIPS
    const int kv_idx = min(first + thread % kScanRows, p.seq_kv - 1);
#endif
#if ATTN_KEY_STRIPS > 1
#pragma unroll
    for (int strip = 0; strip < kKeyStrips; ++strip) {
      next_of_key[strip] = value_of_key(strip, head, kv_idx, p.inputs);
    }
#elif ATTN_KEY_STRIPS
    next_of_key = value_of_key(head, kv_idx, p.inputs);
#endif
  }

  __device__ __forceinline__ void begin_rows() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows[r] = next[r];
      reductions[r] = {};
    }
#if ATTN_KEY_STRIPS
    const int column = thread % kScanRows;
    Strips& strips = shared.strips[warpgroup];
    named_sync(2 + warpgroup, 128);  // all have read the last chunk's
#if ATTN_KEY_STRIPS > 1
#pragma unroll
    for (int strip = 0; strip < kKeyStrips; ++strip) {
      strips.of_key[strip][column] = next_of_key[strip];
    }
    rows[0].of_key = rows[1].of_key = strips.of_key[0] + lane % 4 * 2;
#else
    strips.of_key[column] = next_of_key;
    rows[0].of_key = rows[1].of_key = strips.of_key + lane % 4 * 2;
#endif
    named_sync(2 + warpgroup, 128);
#endif
  }

  __device__ __forceinline__ void release_query() {
    __syncwarp();
    if (lane == 0) barrier_arrive(shared.query_empty[slot()]);
  }

  // The products with the chunk's keys, and with the state of those before. They run on.
  __device__ __forceinline__ void start_products(Scores& scores, ScanColumns& output) {
    barrier_wait(shared.query_full[turn.index], turn.parity);
#if ATTN_FAR_QUERIES
    load_queries(query, shared.query[slot()]);
#else
    const uint64_t query = kept(row_descriptor<64>(shared.query[slot()]));
#endif
#if ATTN_FAR_QUERIES && !ATTN_KEY_SUMS
    release_query();
#endif
    barrier_wait(shared.pair_full[turn.index], turn.parity);
    wgmma_fence();
    multiply_far(scores, query, keys + slot() * (kKeyBytes / 16), true);
    wgmma_commit();
    const uint64_t state = states + place() * (kScanStateBytes / 16);
    barrier_wait(shared.state_full[warpgroup], state_parity);
    state_parity ^= 1;
    wgmma_fence();
    multiply_far(output, query, state, true);
    multiply_far(output, query, state + kKeyBytes / 16, false);
    wgmma_commit();
  }

#if ATTN_KEY_SUMS
  __device__ __forceinline__ void multiply_sum() {
    const float* const sum = shared.key_sum[place()];
    sums = multiply_key_sum(shared.query[slot()], [&](int column) {
      return *reinterpret_cast<const float2*>(sum + column);
    });
  }

#endif
  // The output of the keys before the chunk, and what they add up to: from the unit of their state
  // to the rows' own.
  __device__ __forceinline__ void take_far_keys(ScanColumns& output, int first) {
#if ATTN_KEY_WEIGHTS
    const float unit = shared.unit[place()];
#elif ATTN_FAR_MAY_FALL
    const int unit = has_far_keys(head, p) ? first : 0;
#else
    const int unit = first;
#endif
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float weight = first > 0 ? weight_of_one(rows[r], unit, p.inputs) : 0;
#if ATTN_KEY_SUMS
      sum_far(weight * (r == 0 ? sums.x : sums.y), reductions[r]);
#endif
#if ATTN_FAR_COUNTS
      count_far(first / 4, reductions[r]);
#endif
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        output[j][r][0] *= weight;
        output[j][r][1] *= weight;
      }
    }
    barrier_arrive(shared.state_empty[place()]);
  }

  __device__ __forceinline__ void add_values(ScanColumns& output, const Weights& weights) {
    const uint64_t value = values + slot() * (kScanValueBytes / 16);
    pin(output);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kScanRows / 16; ++step) {
      wgmma_scan(output, weights[step], value + step * (chunk_bytes(16, 64) / 16), 1);
    }
    wgmma_commit();
    wgmma_wait<0>();
    pin(output);
    if (lane == 0) barrier_arrive(shared.pair_empty[slot()]);
  }

  __device__ __forceinline__ void finish(ScanColumns& output, int first) {
    RowValues row[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      row[r] = row_values(complete(reductions[r]), rows[r], p.inputs);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        output[j][r][0] = output_of(output[j][r][0], row[r], rows[r], p.inputs);
        output[j][r][1] = output_of(output[j][r][1], row[r], rows[r], p.inputs);
      }
    }
    barrier_wait(shared.output_empty[warpgroup], output_parity);
    output_parity ^= 1;
    store_fragments<64>(shared.output[warpgroup], output);
    fence_async_proxy();
    __syncwarp();
    if (lane == 0) barrier_arrive(shared.output_full[warpgroup]);
    if (lane % 4 != 0) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (first_row(first) + 8 * r < p.seq_q) store_saves(p.saves, row[r], rows[r], p.inputs);
    }
  }
};
