// Packed sequences: which tile of which sequence an index stands for. A small kernel sorts the
// sequences, longest first, and counts their tiles; a warp of each block then looks tiles up.
#pragma once

constexpr int kSortThreads = 1024;
constexpr int kLengthClasses = 512;  // sixteen for each doubling

// 0 for the longest.
__device__ __forceinline__ int length_class(int length) {
  constexpr int kOne = 127 << 4;  // the class of 1: a float's exponent and four bits of fraction
  const int size = (__float_as_int(static_cast<float>(length)) >> 19) - kOne;
  return kLengthClasses - 1 - max(size, 0);
}

// Sum over the threads up to this one; all threads call. `sums` then holds that of each.
__device__ __forceinline__ int running_sum(int x, int* sums) {
  const int thread = threadIdx.x;
  __syncthreads();
  sums[thread] = x;
  for (int step = 1; step < kSortThreads; step *= 2) {
    __syncthreads();
    const int before = thread >= step ? sums[thread - step] : 0;
    __syncthreads();
    sums[thread] += before;
  }
  __syncthreads();
  return sums[thread];
}

// Where sequence `b` lies. Offsets beyond the tensors, which no right call has, are cut off.
__device__ __forceinline__ Sequence sequence_of(int b, const Params& p) {
  Sequence s{};
  s.b = b;
  s.q_begin = max(0, min(p.cu_seqlens_q[b], p.total_q));
  s.kv_begin = max(0, min(p.cu_seqlens_kv[b], p.total_kv));
  s.seq_q = max(s.q_begin, min(p.cu_seqlens_q[b + 1], p.total_q)) - s.q_begin;
  s.seq_kv = max(s.kv_begin, min(p.cu_seqlens_kv[b + 1], p.total_kv)) - s.kv_begin;
  // As many heads as have about 16 MB of keys and values share the L2 at a time.
  constexpr int kSectionKeys = (16 << 20) / kPairBytes;
  const int kv_heads = max(1, kSectionKeys / max(1, s.seq_kv));
#if ATTN_PACKED_HEADS
  s.section_heads = min(kv_heads, kHeadsKv);
#else
  s.section_heads = min(kv_heads, kHeadsKv) * kGroup;
#endif
  return s;
}

// By one block. Tiles of long sequences come first, so that those at the end, which leave other
// cores idle, are short.
__device__ __forceinline__ void sort_sequences(const Params& p) {
  __shared__ int places[kLengthClasses];
  __shared__ int sums[kSortThreads];
  const int thread = threadIdx.x;
  if (thread < kLengthClasses) places[thread] = 0;
  __syncthreads();
  for (int b = thread; b < p.batch; b += kSortThreads) {
    atomicAdd(&places[length_class(sequence_of(b, p).seq_kv)], 1);
  }
  __syncthreads();
  const int members = thread < kLengthClasses ? places[thread] : 0;
  const int end = running_sum(members, sums);
  if (thread < kLengthClasses) places[thread] = end - members;
  __syncthreads();
  for (int b = thread; b < p.batch; b += kSortThreads) {
    const int place = atomicAdd(&places[length_class(sequence_of(b, p).seq_kv)], 1);
    p.sequences[place].b = b;
  }
  __syncthreads();
  int first_tile = 0;
  for (int base = 0; base < p.batch; base += kSortThreads) {
    const int place = base + thread;
    Sequence s{};
    if (place < p.batch) s = sequence_of(p.sequences[place].b, p);
#if ATTN_SPLIT_KEYS
    const int tiles = tiles_of(s.seq_q) * kTilesBeside * p.splits;
#else
    const int tiles = tiles_of(s.seq_q) * kTilesBeside;
#endif
    s.first_tile = first_tile + running_sum(tiles, sums) - tiles;
    if (place < p.batch) p.sequences[place] = s;
    first_tile += sums[kSortThreads - 1];
  }
  if (thread == 0) {
    *p.tile_count = first_tile;
    *p.next_tile = 0;
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

// Looks tiles up, whose indices ascend. All lanes of a warp call.
class TileFinder {
 public:
  __device__ __forceinline__ Tile find(int index, const Params& p) {
    // The last sequence that does not begin beyond the index; those without rows begin with the
    // next one.
    unsigned before;
    do {
      const int i = place_ + static_cast<int>(threadIdx.x % 32);
      before = __ballot_sync(0xffffffffu, i < p.batch && p.sequences[i].first_tile <= index);
      place_ += 31 - __clz(before);
    } while (before == 0xffffffffu);
    const Sequence s = p.sequences[place_];
    const int tiles = tiles_of(s.seq_q);
    int rest = index - s.first_tile;
#if ATTN_VALUE_PARTS > 1
    const int part = rest % kValueParts;
    rest /= kValueParts;
#endif
#if ATTN_SPLIT_KEYS
    const int split = rest % p.splits;
    rest /= p.splits;
#endif
#if ATTN_FIRST_ROWS_LONGEST
    // Within a section the first rows of every head come first: the longer ones, if they differ.
#else
    // Within a section the last rows of every head come first: the longer ones, if they differ.
#endif
    const int first_head = rest / (s.section_heads * tiles) * s.section_heads;
#if ATTN_PACKED_HEADS
    const int heads = min(s.section_heads, kHeadsKv - first_head);
#else
    const int heads = min(s.section_heads, kHeadsQ - first_head);
#endif
    rest -= first_head * tiles;
#if ATTN_FIRST_ROWS_LONGEST
    const int row = rest / heads;
#else
    const int row = tiles - 1 - rest / heads;
#endif
#if ATTN_PACKED_HEADS
    const int head = (first_head + rest % heads) * kGroup;
#else
    const int head = first_head + rest % heads;
#endif
    Tile tile{row * kTileQ, head, s.b};
#if ATTN_VALUE_PARTS > 1
    tile.part = part;
#endif
#if ATTN_SPLIT_KEYS
    tile.split = split;
#endif
    tile.q_begin = s.q_begin;
    tile.kv_begin = s.kv_begin;
    tile.seq_q = s.seq_q;
    tile.seq_kv = s.seq_kv;
    return tile;
  }

 private:
  int place_ = 0;
};
