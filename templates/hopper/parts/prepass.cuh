// Ids in no order: before the kernel, a small one tabulates what the queries of each tile and the
// keys of each block hold of them, so that the producer can pass over blocks without a pair.
#pragma once

constexpr int kIdTables = ATTN_ID_TABLES;
constexpr int kPrepareThreads = 256;

// Of every batch and head that the table tells apart, a tile's queries or a block's keys. Nothing
// is asked where no key exists.
__host__ __device__ __forceinline__ int64_t table_entries(int table, int batch, int seq_q,
                                                          int seq_kv) {
  if (seq_kv == 0) return 0;
  const TableShape shape = table_shape(table);
  const int blocks =
      shape.of_keys ? (seq_kv + kTileKv - 1) / kTileKv : (seq_q + kTileQueries - 1) / kTileQueries;
  return int64_t{batch} * shape.heads * blocks;
}

// What an entry's queries or keys hold: a warp reads their ids side by side.
__device__ __forceinline__ Ids gather_ids(int table, int64_t entry, const Params& p) {
  const TableShape shape = table_shape(table);
  const int size = shape.of_keys ? kTileKv : kTileQueries;
  const int length = shape.of_keys ? p.seq_kv : p.seq_q;
  const int blocks = (length + size - 1) / size;
  const int first = static_cast<int>(entry % blocks) * size;
  const int plane = static_cast<int>(entry / blocks);
  // A table of key heads counts those; one of no heads has the first in their place.
  const int heads_per_entry = kHeadsQ / shape.heads;
  const int h = plane % shape.heads * heads_per_entry;
  Row row{plane / shape.heads, h, h / (kHeadsQ / kHeadsKv), 0, 0, p.seq_q, p.seq_kv};
  Ids ids{INT32_MAX, INT32_MIN, 0};
  for (int i = first + static_cast<int>(threadIdx.x % 32); i < min(first + size, length); i += 32) {
    row.q_idx = i;
    row.q_pos = i + p.seq_kv - p.seq_q;
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

__global__ void __launch_bounds__(kPrepareThreads)
    attention_forward_prepare(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  call_next_kernel();
  wait_for_stream();
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.next_tile = 0;
#endif
  constexpr int kWarps = kPrepareThreads / 32;
  const int warp = blockIdx.x * kWarps + threadIdx.x / 32;
#pragma unroll
  for (int table = 0; table < kIdTables; ++table) {
    const int64_t entries = table_entries(table, p.batch, p.seq_q, p.seq_kv);
    for (int64_t entry = warp; entry < entries; entry += gridDim.x * kWarps) {
      const Ids ids = gather_ids(table, entry, p);
      if (threadIdx.x % 32 == 0) p.inputs.attn_tables[table][entry] = packed_ids(ids);
    }
  }
}
