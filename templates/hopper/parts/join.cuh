// Joins what the splits of each row's keys left. The warps of a block share out a row's splits.
#pragma once

constexpr int kMostJoinWarps = 8;
constexpr int kPartsAtOnce = 2;  // that a warp reads before it joins them, by one trip to the L2

#if ATTN_EXPONENTIAL
// By which the accumulators of two parts of a row shrink when they become one.
struct JoinFactors {
  float own, other;
};

// Joins two parts of a row. A maximum of -inf (no pair) counts as 0, as it does in absorb.
__device__ __forceinline__ JoinFactors join(Reductions& red, const Reductions& other,
                                            const Row& row, const Inputs& in) {
  const float own_max = row_max(red.max_score, row, in);
  const float other_max = row_max(other.max_score, row, in);
  red.max_score = fmaxf(red.max_score, other.max_score);
  const float joined_max = row_max(red.max_score, row, in);
  const float max = joined_max == -INFINITY ? 0 : joined_max;
#if ATTN_LARGE_SCORES
  const JoinFactors factors{exp2_approx(exponent_of_difference(own_max, max)),
                            exp2_approx(exponent_of_difference(other_max, max))};
#else
  const JoinFactors factors{exp2_approx((own_max - max) * kLog2e),
                            exp2_approx((other_max - max) * kLog2e)};
#endif
  red.sum_exp = red.sum_exp * factors.own + other.sum_exp * factors.other;
  return factors;
}

#endif
// A row of a part, or of several, as a warp has it: two of every 64 columns are a lane's.
struct JoinedRow {
  static constexpr int kPairs = (ATTN_PART_COLUMNS + 63) / 64;
  float2 output[kPairs] = {};
  Reductions reductions;

  static __device__ __forceinline__ int column(int pair) {
    return 64 * pair + 2 * (threadIdx.x % 32);
  }
  __device__ __forceinline__ void read(const Part& part) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (column(i) < ATTN_PART_COLUMNS) {
        output[i] = *reinterpret_cast<const float2*>(part.output + column(i));
      }
    }
    reductions = part.reductions;
  }
  __device__ __forceinline__ void add(const JoinedRow& other, const Row& row, const Inputs& in) {
#if ATTN_ROW_FREE
    join(reductions, other.reductions, row, in);
#else
    const JoinFactors factors = join(reductions, other.reductions, row, in);
#endif
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
#if ATTN_ROW_FREE
      output[i].x += other.output[i].x;
      output[i].y += other.output[i].y;
#else
      output[i].x = output[i].x * factors.own + other.output[i].x * factors.other;
      output[i].y = output[i].y * factors.own + other.output[i].y * factors.other;
#endif
    }
  }
#if ATTN_MAPS > 1
  __device__ __forceinline__ void add_output(const JoinedRow& other) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      output[i].x += other.output[i].x;
      output[i].y += other.output[i].y;
    }
  }
#endif
  __device__ __forceinline__ void leave(Part& part) const {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (column(i) < ATTN_PART_COLUMNS) {
        *reinterpret_cast<float2*>(part.output + column(i)) = output[i];
      }
    }
    if (threadIdx.x % 32 == 0) part.reductions = reductions;
  }
};

#if ATTN_EARLY_JOINS
// Until the parts that the warp joins are there. Their number goes: see call_number.
__device__ __forceinline__ void wait_for_parts(Part* parts, int warp, int warps, const Params& p) {
  const int step = 32 * warps;
#if ATTN_MAPS > 1
  const int count = kMaps * p.splits;
#else
  const int count = p.splits;
#endif
  for (int i = warp + warps * (threadIdx.x % 32); i < count; i += step) {
    wait_for_number(parts[i].call, p.call);
    parts[i].call = ~p.call;
  }
  __syncwarp();
}

#endif
// By all warps: the first has the row in the end. `left`: what the others leave it.
__device__ __forceinline__ void join_row(JoinedRow& joined, const Part* parts, int splits,
                                         Part* left, const Row& row, const Params& p) {
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll 1
  for (int first = warp; first < splits; first += kPartsAtOnce * warps) {
    JoinedRow others[kPartsAtOnce];
#pragma unroll
    for (int i = 0; i < kPartsAtOnce; ++i) {
      if (first + i * warps < splits) others[i].read(parts[first + i * warps]);
    }
#pragma unroll
    for (int i = 0; i < kPartsAtOnce; ++i) {
      if (first + i * warps < splits) joined.add(others[i], row, p.inputs);
    }
  }
  if (warp > 0 && warp < splits) joined.leave(left[warp]);
  __syncthreads();
  if (warp > 0) return;
  for (int i = 1; i < min(warps, splits); ++i) {
    JoinedRow other;
    other.read(left[i]);
    joined.add(other, row, p.inputs);
  }
}

// Of a row's output, that of a pair of the lane's; none: -1.
#if ATTN_VALUE_PARTS > 1
__device__ __forceinline__ int output_column(int pair, int value_part) {
  const int column = JoinedRow::column(pair), of_all = value_part * kHeadDimV + column;
  return column < kHeadDimV && of_all < kOutputDim ? of_all : -1;
}
#else
__device__ __forceinline__ int output_column(int pair) {
  const int column = JoinedRow::column(pair);
  return column < ATTN_PART_COLUMNS ? column : -1;
}
#endif

// By the first warp: the row's output in place of its accumulator, and what is saved of it.
__device__ __forceinline__ void finish_row(JoinedRow& joined, const Row& row,
#if ATTN_VALUE_PARTS > 1
                                           int value_part,
#endif
                                           const Params& p) {
  const RowValues values = row_values(joined.reductions, row, p.inputs);
#if ATTN_COLUMN_INPUTS
  const ColumnRows inputs = column_rows(row, p.inputs);
#endif
#pragma unroll
  for (int i = 0; i < JoinedRow::kPairs; ++i) {
    float2& out = joined.output[i];
#if ATTN_OUTPUT_COLUMNS
#if ATTN_VALUE_PARTS > 1
    const int column = output_column(i, value_part);
#else
    const int column = output_column(i);
#endif
    if (column < 0) break;
    Column first{column}, second{column + 1};
#if ATTN_COLUMN_INPUTS
#pragma unroll
    for (int n = 0; n < kColumnInputs; ++n) {
      const uint32_t pair = __ldg(reinterpret_cast<const uint32_t*>(inputs.begin[n] + column));
      first.input[n] = static_cast<uint16_t>(pair);
      second.input[n] = static_cast<uint16_t>(pair >> 16);
    }
#endif
    out.x = output_of(out.x, first, values, row, p.inputs);
    out.y = output_of(out.y, second, values, row, p.inputs);
#else
    out.x = output_of(out.x, values, row, p.inputs);
    out.y = output_of(out.y, values, row, p.inputs);
#endif
  }
#if ATTN_VALUE_PARTS > 1
  if (value_part != 0) return;
#endif
  if (threadIdx.x == 0) store_saves(p.saves, values, row, p.inputs);
}

// By the first warp. `at`: where the row's output begins, in elements.
__device__ __forceinline__ void store_row(const JoinedRow& finished, int64_t at,
#if ATTN_VALUE_PARTS > 1
                                          int value_part,
#endif
                                          const Params& p) {
#pragma unroll
  for (int i = 0; i < JoinedRow::kPairs; ++i) {
#if ATTN_VALUE_PARTS > 1
    const int column = output_column(i, value_part);
#else
    const int column = output_column(i);
#endif
    if (column < 0) break;
    *reinterpret_cast<uint32_t*>(p.o + (at + column) * kElementBytes) =
        pack(finished.output[i].x, finished.output[i].y);
  }
}

#if ATTN_MAPS > 1
// Joins the parts of a row, of each map by themselves: the first warp adds up what the maps put
// out.
#else
// Joins the parts of a row: the first warp finishes it.
#endif
__device__ __forceinline__ void join_and_store(const Part* parts, int splits, Part* left, Row row,
                                               int64_t at,
#if ATTN_VALUE_PARTS > 1
                                               int value_part,
#endif
                                               const Params& p) {
#if ATTN_MAPS > 1
  JoinedRow sum;
#pragma unroll 1
  for (int map = 0; map < kMaps; ++map) {
    if (map > 0) __syncthreads();  // what the warps left is read
    row.map = map;
#if ATTN_PACKED_SAVES
    row.first_save = (int64_t{row.h} * kMaps + map) * p.total_q + row.q_begin;
#endif
#if ATTN_ROW_CONSTANTS
    if (row.seq_kv > 0) set_constants(row, p.inputs);
#endif
    JoinedRow joined;
    join_row(joined, parts + map * splits, splits, left, row, p);
    if (threadIdx.x >= 32) continue;
    finish_row(joined, row, p);
    sum.add_output(joined);
  }
  if (threadIdx.x < 32) store_row(sum, at, p);
#else
#if ATTN_PACKED_SAVES
  row.first_save = int64_t{row.h} * p.total_q + row.q_begin;
#endif
#if ATTN_ROW_CONSTANTS
  if (row.seq_kv > 0) set_constants(row, p.inputs);
#endif
  JoinedRow joined;
  join_row(joined, parts, splits, left, row, p);
  if (threadIdx.x >= 32) return;
#if ATTN_VALUE_PARTS > 1
  finish_row(joined, row, value_part, p);
  store_row(joined, at, value_part, p);
#else
  finish_row(joined, row, p);
  store_row(joined, at, p);
#endif
#endif
}

#if ATTN_VARLEN
// The sequence that a query of the packed ones is in, or none. By a warp.
__device__ __forceinline__ const Sequence* sequence_with(int query, const Params& p) {
  for (int first = 0; first < p.batch; first += 32) {
    const int i = first + static_cast<int>(threadIdx.x % 32);
    const bool has = i < p.batch && p.sequences[i].q_begin <= query &&
                     query - p.sequences[i].q_begin < p.sequences[i].seq_q;
    const unsigned which = __ballot_sync(0xffffffffu, has);
    if (which != 0) return p.sequences + first + 31 - __clz(which);
  }
  return nullptr;
}

// Rows of sequences that are split, as many blocks as the GPU has room for about. Which these are
// stands in memory, which is not to be read before the kernels before have ended: such calls are
// not joined early.
__global__ void __launch_bounds__(32 * kMostJoinWarps)
    attention_forward_join(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  __shared__ __align__(16) uint8_t memory[kMostJoinWarps * sizeof(Part)];
  Part* const left = reinterpret_cast<Part*>(memory);
  wait_for_stream();
  if (p.splits == 1 && !*p.any_split) return;
#pragma unroll 1
  for (int i = blockIdx.x; i < ATTN_JOINED_HEADS * p.total_q; i += gridDim.x) {
#if ATTN_VALUE_PARTS > 1
    const int h = i / p.total_q % kHeadsQ, query = i % p.total_q;
    const int value_part = i / p.total_q / kHeadsQ;
#else
    const int h = i / p.total_q, query = i % p.total_q;
#endif
    const Sequence* const sequence = sequence_with(query, p);
    if (!sequence || sequence->splits == 1) continue;
    const Row row = row_at(sequence->b, h, query - sequence->q_begin, *sequence);
    const int64_t at = query * p.o_stride_seq + h * p.o_stride_head;
#if ATTN_VALUE_PARTS > 1
    const Part* const parts = parts_of(row, *sequence, p) + value_part * value_part_stride(p);
    join_and_store(parts, sequence->splits, left, row, at, value_part, p);
#else
    join_and_store(parts_of(row, *sequence, p), sequence->splits, left, row, at, p);
#endif
    __syncthreads();  // what the warps left is read
  }
}
#else
#if ATTN_VALUE_PARTS > 1
// A block a row and part of its values.
#else
// A block a row.
#endif
__global__ void __launch_bounds__(32 * kMostJoinWarps)
    attention_forward_join(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  __shared__ __align__(16) uint8_t memory[kMostJoinWarps * sizeof(Part)];
  Part* const left = reinterpret_cast<Part*>(memory);
#if ATTN_VALUE_PARTS > 1
  const int value_part = blockIdx.x % kValueParts, index = blockIdx.x / kValueParts;
  const int head = index / p.seq_q;  // of all batches
#else
  const int head = blockIdx.x / p.seq_q;  // of all batches
#endif
#if ATTN_VALUE_PARTS > 1
  const Row row = row_at(head / kHeadsQ, head % kHeadsQ, index % p.seq_q, p);
  Part* const parts = parts_of(row, p) + value_part * value_part_stride(p);
#else
  const Row row = row_at(head / kHeadsQ, head % kHeadsQ, blockIdx.x % p.seq_q, p);
  Part* const parts = parts_of(row, p);
#endif
  if (p.joins_early) {
    wait_for_parts(parts, threadIdx.x / 32, blockDim.x / 32, p);
  } else {
    wait_for_stream();
  }
  const int64_t at =
      row.b * p.o_stride_batch + row.q_idx * p.o_stride_seq + row.h * p.o_stride_head;
#if ATTN_VALUE_PARTS > 1
  join_and_store(parts, p.splits, left, row, at, value_part, p);
#else
  join_and_store(parts, p.splits, left, row, at, p);
#endif
  // Or this kernel might end, and others begin, before the main one ends.
  if (p.joins_early) wait_for_stream();
}
#endif
