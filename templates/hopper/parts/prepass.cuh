// Ids in no order: before the kernel, a small one tabulates what the queries of each tile and the
// keys of each block hold of them, so that the producer can pass over blocks without a pair.
#pragma once

constexpr int kIdTables = ATTN_ID_TABLES;

// The queries or keys first..end - 1 of the batch, or sequence, and the head of `row`.
struct Stretch {
  Row row;
  int first, end;
};

#if ATTN_VARLEN
#include "packed_entries.cuh"
#else
#include "entries.cuh"
#endif

// What an entry's queries or keys hold: a warp reads their ids side by side.
__device__ __forceinline__ Ids gather_ids(int table, int64_t entry, const Params& p) {
  auto [row, first, end] = stretch_of(table, entry, p);
  Ids ids{INT32_MAX, INT32_MIN, 0};
  for (int i = first + static_cast<int>(threadIdx.x % 32); i < end; i += 32) {
    row.q_idx = i;
    row.q_pos = i + (row.seq_kv - row.seq_q);
    const int id = tabulated(table, row, i, p.inputs);
    ids.least = min(ids.least, id);
    ids.greatest = max(ids.greatest, id);
    ids.bits |= uint64_t{1} << bit_of(id);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    ids.least = min(ids.least, __shfl_xor_sync(0xffffffffu, ids.least, step));
    ids.greatest = max(ids.greatest, __shfl_xor_sync(0xffffffffu, ids.greatest, step));
    ids.bits |= __shfl_xor_sync(0xffffffffu, ids.bits, step);
  }
  return ids;
}

__global__ void __launch_bounds__(kTableThreads)
    attention_forward_prepare(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  call_next_kernel();
  wait_for_stream();
#if ATTN_VARLEN
  if (blockIdx.x < kSortingBlocks) {
    sort_sequences(p);
    return;
  }
  const int block = blockIdx.x - kSortingBlocks, blocks = gridDim.x - kSortingBlocks;
#else
#if ATTN_TILES_COUNTED
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.next_tile = 0;
#endif
  const int block = blockIdx.x, blocks = gridDim.x;
#endif
  constexpr int kWarps = kTableThreads / 32;
#pragma unroll
  for (int table = 0; table < kIdTables; ++table) {
    const int64_t entries = table_entries(table, p);
    for (int64_t entry = block * kWarps + threadIdx.x / 32; entry < entries;
         entry += blocks * kWarps) {
      const Ids ids = gather_ids(table, entry, p);
      if (threadIdx.x % 32 == 0) p.inputs.attn_tables[table][entry] = packed_ids(ids);
    }
  }
}
