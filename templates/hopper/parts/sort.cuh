// The kernel before the main one: sorts packed sequences, longest first, and counts their tiles. A
// warp of each block then looks tiles up.
#pragma once

constexpr int kLengthClasses = 512;  // sixteen for each doubling

// 0 for the longest.
__device__ __forceinline__ int length_class(int length) {
  constexpr int kOne = 127 << 4;  // the class of 1: a float's exponent and four bits of fraction
  const int size = (__float_as_int(static_cast<float>(length)) >> 19) - kOne;
  return kLengthClasses - 1 - max(size, 0);
}

// So many are sorted by counting, for each, those before it: 2 us sooner than in classes.
constexpr int kFewSequences = ATTN_FEW_SEQUENCES;

// What others ask of a sequence.
struct Size {
  int keys, tiles;
#if ATTN_SPLIT_KEYS
  int parts;  // of a head
#endif
};

// Each thread has a sequence.
__device__ __forceinline__ void sort_few(const Params& p) {
  __shared__ Size sizes[kFewSequences];
  const int b = threadIdx.x;
  const bool is_one = b < p.batch;
  Sequence s{};
  if (is_one) s = sequence_of(b, p);
#if ATTN_SPLIT_KEYS
  s.splits = splits_for(s, p.may_split ? blocks_of_split(p) : kAllBlocks);
  const Size own{s.seq_kv, tiles_of(s.seq_q) * kTilesBeside * s.splits, part_count(s, s.splits)};
#else
  const Size own{s.seq_kv, tiles_of(s.seq_q) * kTilesBeside};
#endif
  if (is_one) sizes[b] = own;
  __syncthreads();
  if (!is_one) return;
  int place = 0;
  for (int other = 0; other < p.batch; ++other) {
    const Size size = sizes[other];
    if (size.keys < own.keys || (size.keys == own.keys && other >= b)) continue;
    ++place;
    s.first_tile += size.tiles;
#if ATTN_SPLIT_KEYS
    s.first_part += size.parts;
#endif
  }
  p.sequences[place] = s;
  if (place < p.batch - 1) return;
  *p.tile_count = s.first_tile + own.tiles;
#if ATTN_TILES_COUNTED
  *p.next_tile = 0;
#endif
#if ATTN_SPLIT_KEYS
  *p.any_split = s.first_part + own.parts > 0;
#endif
}

// In classes of like length.
__device__ __forceinline__ void sort_many(const Params& p) {
  __shared__ int places[kLengthClasses];
  __shared__ BlockSums sums;
  const int thread = threadIdx.x;
  if (thread < kLengthClasses) places[thread] = 0;
  __syncthreads();
#pragma unroll 1
  for (int b = thread; b < p.batch; b += kSortThreads) {
    atomicAdd(&places[length_class(sequence_of(b, p).seq_kv)], 1);
  }
  __syncthreads();
  const int members = thread < kLengthClasses ? places[thread] : 0;
  const int end = block_sum(members, sums).here;
  if (thread < kLengthClasses) places[thread] = end - members;
  __syncthreads();
#pragma unroll 1
  for (int b = thread; b < p.batch; b += kSortThreads) {
    const int place = atomicAdd(&places[length_class(sequence_of(b, p).seq_kv)], 1);
    p.sequences[place].b = b;
  }
  __syncthreads();
  int first_tile = 0;
#pragma unroll 1
  for (int base = 0; base < p.batch; base += kSortThreads) {
    const int place = base + thread;
    Sequence s{};
    if (place < p.batch) s = sequence_of(p.sequences[place].b, p);
#if ATTN_SPLIT_KEYS
    s.splits = 1;
#endif
    const int tiles = tiles_of(s.seq_q) * kTilesBeside;
    const BlockSum all = block_sum(tiles, sums);
    s.first_tile = first_tile + all.here - tiles;
    if (place < p.batch) p.sequences[place] = s;
    first_tile += all.all;
  }
  if (thread == 0) {
    *p.tile_count = first_tile;
#if ATTN_TILES_COUNTED
    *p.next_tile = 0;
#endif
  }
}

// By one block. Tiles of long sequences come first, so that those at the end, which leave other
// cores idle, are short.
__device__ __forceinline__ void sort_sequences(const Params& p) {
  if (p.batch <= kFewSequences) {
    sort_few(p);
  } else {
    sort_many(p);
  }
}
#if !ATTN_ID_TABLES

__global__ void __launch_bounds__(kSortThreads, 1)
    attention_forward_prepare(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  call_next_kernel();
  wait_for_stream();
  sort_sequences(p);
}
#endif
