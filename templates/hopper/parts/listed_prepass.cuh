// Lists of keys as a mask: before the kernel, a small one makes bits of the lists of each tile's
// queries, in the order in which the threads of a row of scores take them.
#pragma once

constexpr int kTableThreads = 1024;
constexpr int kBlockWords = kTileQueries * kMaskWords;  // of a tile's bits, of a block of keys
// To the next block's in shared memory. By as many words as a tile has, a query's bits of all
// blocks would share four banks.
constexpr int kBlockStride = kBlockWords + 4;
constexpr int kBlocksAtOnce = ATTN_LISTED_BLOCKS;  // whose bits are there
constexpr int kKeysAtOnce = 16;  // that a lane reads before it marks them, by one trip to memory

// Blocks of keys that a tile of queries may need.
struct Stretch {
  Row row;  // the first query's
  int queries, first_block, blocks;
  uint32_t first_key, keys;
};

__host__ __device__ __forceinline__ int64_t stretches(const Params& p) {
  const int blocks = (p.seq_kv + kTileKv - 1) / kTileKv;
  const int64_t rows_of_blocks = blocks > 0 ? table_entries<int64_t>(p) / blocks : 0;
  return rows_of_blocks * ((blocks + kBlocksAtOnce - 1) / kBlocksAtOnce);
}

__device__ __forceinline__ Stretch stretch_of(int64_t index, const Params& p) {
  const int tiles = (p.seq_q + kTileQueries - 1) / kTileQueries;
  const int blocks = (p.seq_kv + kTileKv - 1) / kTileKv;
  const int parts = (blocks + kBlocksAtOnce - 1) / kBlocksAtOnce;
  const int q_first = static_cast<int>(index / parts % tiles) * kTileQueries;
  const int plane = static_cast<int>(index / parts / tiles);
  const Row row = row_at(plane / kHeadsKv, plane % kHeadsKv * kGroup, q_first, p);
  const int queries = min(kTileQueries, p.seq_q - q_first);
  const KeyRange needed = key_range(q_first, q_first + queries - 1, row, p.inputs);
  const int part_begin = static_cast<int>(index % parts) * kBlocksAtOnce;
  const int begin = max(part_begin, needed.begin / kTileKv);
  const int end = min(part_begin + kBlocksAtOnce, (needed.end + kTileKv - 1) / kTileKv);
  const auto first_key = static_cast<uint32_t>(begin * kTileKv);
  const int keys_end = min(end * kTileKv, p.seq_kv);
  if (end <= begin) return {row, queries, begin, 0, first_key, 0};
  return {row, queries, begin, end - begin, first_key, keys_end - first_key};
}

// The key's bit, if it is in the stretch.
__device__ __forceinline__ void mark_key(uint32_t* bits, const Stretch& stretch, const Row& row,
                                         int key, const Params& p) {
  const uint32_t place = key - stretch.first_key;
  if (place >= stretch.keys) return;
#if ATTN_TOKEN_MASK
  if (!mask_holds(row, key, p.inputs)) return;
#endif
  const int query = row.q_idx - stretch.row.q_idx;
  const uint32_t block = place / kTileKv, column = place % kTileKv, within = column % 128;
  const uint32_t word = column / 128 * 4 + within % 8 / 2, bit = within / 8 * 2 + within % 2;
  atomicOr(&bits[block * kBlockStride + query * kMaskWords + word], 1u << bit);
}

// Of the keys that the query's list names: by a warp.
__device__ __forceinline__ void mark(uint32_t* bits, const Stretch& stretch, int query,
                                     const Params& p) {
  const Row row = row_after(stretch.row, query);
  const List list = list_of(row.b, row.h_kv, row.q_idx, p);
#pragma unroll 1
  for (int begin = threadIdx.x % 32; begin < list.count; begin += 32 * kKeysAtOnce) {
    int keys[kKeysAtOnce];
#pragma unroll
    for (int n = 0; n < kKeysAtOnce; ++n) {
      const int i = begin + 32 * n;
      keys[n] = i < list.count ? __ldg(&list.keys[i]) : -1;
    }
#pragma unroll
    for (int n = 0; n < kKeysAtOnce; ++n) mark_key(bits, stretch, row, keys[n], p);
  }
}

// The block's bits to memory, and whether there are any: by a warp. None is held to have all.
__device__ __forceinline__ void store(const uint32_t* bits, const Stretch& stretch, int block,
                                      const Params& p) {
  const uint4* const from = reinterpret_cast<const uint4*>(bits + block * kBlockStride);
  const int kv_first = (stretch.first_block + block) * kTileKv;
  const int64_t entry = pair_entry(stretch.row.q_idx, kv_first, stretch.row);
  uint4* const to = p.inputs.attn_mask_bits + entry * (kMaskBytes / 16);
  uint32_t any = 0;
  for (int i = threadIdx.x % 32; i < kBlockWords / 4; i += 32) {
    const uint4 words = from[i];
    to[i] = words;
    any |= words.x | words.y | words.z | words.w;
  }
  const bool any_of_all = __any_sync(0xffffffffu, any != 0);
  if (threadIdx.x % 32 == 0) p.inputs.attn_tables[0][entry] = packed_pairs(any_of_all, false);
}

__global__ void __launch_bounds__(kTableThreads)
    attention_forward_prepare(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  extern __shared__ __align__(1024) uint8_t memory[];
  uint32_t* const bits = reinterpret_cast<uint32_t*>(memory);
  call_next_kernel();
  wait_for_stream();
#if ATTN_TILES_COUNTED
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.next_tile = 0;
#endif
  constexpr int kWarps = kTableThreads / 32;
  const int warp = threadIdx.x / 32;
  const int64_t count = stretches(p);
#pragma unroll 1
  for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
    const Stretch stretch = stretch_of(index, p);
    if (stretch.blocks == 0) continue;
    uint4* const fours = reinterpret_cast<uint4*>(bits);
    for (int i = threadIdx.x; i < stretch.blocks * kBlockStride / 4; i += kTableThreads) {
      fours[i] = {};
    }
    __syncthreads();
    for (int query = warp; query < stretch.queries; query += kWarps) {
      mark(bits, stretch, query, p);
    }
    __syncthreads();
    for (int block = warp; block < stretch.blocks; block += kWarps) store(bits, stretch, block, p);
    __syncthreads();
  }
}
