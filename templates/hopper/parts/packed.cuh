// Packed sequences: which tile of which sequence an index stands for.
#pragma once

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
#if ATTN_HEAD_PARTS > 1
  s.section_heads = min(kv_heads, kHeadsKv) * kHeadParts;
#elif ATTN_PACKED_HEADS
  s.section_heads = min(kv_heads, kHeadsKv);
#else
  s.section_heads = min(kv_heads, kHeadsKv) * kGroup;
#endif
  return s;
}

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
    const int split = rest % s.splits;
    rest /= s.splits;
#endif
#if ATTN_FIRST_ROWS_LONGEST
    // Within a section the first rows of every head come first: the longer ones, if they differ.
#else
    // Within a section the last rows of every head come first: the longer ones, if they differ.
#endif
    const int first_head = rest / (s.section_heads * tiles) * s.section_heads;
#if ATTN_PACKED_HEADS && ATTN_VALUE_PARTS > 1
    const int heads = min(s.section_heads, kHeadTiles - first_head);
#elif ATTN_PACKED_HEADS
    const int heads = min(s.section_heads, kTilesBeside - first_head);
#else
    const int heads = min(s.section_heads, kHeadsQ - first_head);
#endif
    rest -= first_head * tiles;
#if ATTN_FIRST_ROWS_LONGEST
    const int row = rest / heads;
#else
    const int row = tiles - 1 - rest / heads;
#endif
#if ATTN_HEAD_PARTS > 1
    const int head = first_head_of(first_head + rest % heads);
#elif ATTN_PACKED_HEADS
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
    tile.splits = s.splits;
    tile.first_part = s.first_part;
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
