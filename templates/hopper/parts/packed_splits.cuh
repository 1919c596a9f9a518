// How packed sequences share out the splits of a call: the longer a sequence, the more. How long it
// is, only the GPU knows.
#pragma once

constexpr int kAllBlocks = INT32_MAX;  // a sequence is not split

// Of keys that a tile visits, at most.
__device__ __forceinline__ int blocks_of(const Sequence& s) {
#if ATTN_ROW_SPAN
  const auto keys = static_cast<int>(min(int64_t{s.seq_kv}, int64_t{ATTN_ROW_SPAN + kTileQ}));
#elif ATTN_TOKENS
  const int keys = min(s.seq_kv, kListRoom);
#else
  const int keys = s.seq_kv;
#endif
  return (keys + kTileKv - 1) / kTileKv;
}

// Of each tile of the sequence, if none has more than `most` blocks.
__device__ __forceinline__ int splits_for(const Sequence& s, int most) {
  const int blocks = blocks_of(s);
  return blocks > most ? (blocks + most - 1) / most : 1;
}

// That they leave, for each head.
__device__ __forceinline__ int part_count(const Sequence& s, int splits) {
#if ATTN_MAPS > 1
  return splits > 1 ? s.seq_q * kMaps * splits : 0;
#else
  return splits > 1 ? s.seq_q * splits : 0;
#endif
}

struct Shares {
  int tiles, parts;  // of a head
  int longest;       // that a tile visits, in blocks
  float blocks;      // of all tiles
};

// Of all sequences, if no split has more than `most` blocks. By a warp. It is called, not copied:
// that code comes from memory is most of what it takes.
__device__ __noinline__ Shares shares_of(int most, const Params& p) {
  Shares all{};
#pragma unroll 1
  for (int b = threadIdx.x % 32; b < p.batch; b += 32) {
    const Sequence s = sequence_of(b, p);
    const int tiles = tiles_of(s.seq_q), blocks = blocks_of(s), splits = splits_for(s, most);
    all.tiles += tiles * splits;
    all.parts += part_count(s, splits);
    all.longest = max(all.longest, tiles > 0 ? blocks : 0);
    all.blocks += static_cast<float>(tiles) * static_cast<float>(blocks);
  }
#pragma unroll 1
  for (int step = 16; step > 0; step /= 2) {
    all.tiles += __shfl_xor_sync(0xffffffffu, all.tiles, step);
    all.parts += __shfl_xor_sync(0xffffffffu, all.parts, step);
    all.longest = max(all.longest, __shfl_xor_sync(0xffffffffu, all.longest, step));
    all.blocks += __shfl_xor_sync(0xffffffffu, all.blocks, step);
  }
  return all;
}

constexpr int kTries = kSortThreads / 32 - 1;

// The fewest blocks whose splits are no more tiles than that, and whose parts have places, of so
// many numbers from `least` to four times as many, some twentieth apart, each of which a warp
// tries; else all.
__device__ __forceinline__ int fewest_blocks(int least, int most_tiles, const Params& p) {
  __shared__ int found[kTries + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tried = static_cast<int>(least * (1 + warp * (0.035f + 0.0025f * warp)));
  const Shares shares = shares_of(tried, p);
  const bool has_room = warp < kTries && shares.tiles <= most_tiles && shares.parts <= p.most_parts;
  if (lane == 0) found[warp] = has_room ? tried : kAllBlocks;
  __syncthreads();
  int most = found[lane];
#pragma unroll 1
  for (int by = 16; by > 0; by /= 2) most = min(most, __shfl_xor_sync(0xffffffffu, most, by));
  return most;
}

// How many blocks a split has at most. Where sequences of the mean length would be split, as few as
// make no more tiles than theirs would. Otherwise a place's share of the whole call, if a sequence
// takes longer than all would that are as long as the mean; else no sequence is split. All threads
// of the block that sorts sequences call.
__device__ __forceinline__ int blocks_of_split(const Params& p) {
  constexpr int kJoining = ATTN_SPLIT_JOINING;
  const Shares whole = shares_of(kAllBlocks, p);
  if (whole.longest == 0) return kAllBlocks;
  int most_tiles = whole.tiles * p.splits;
  float share = whole.blocks / most_tiles;
  if (p.splits == 1) {
    const int waves = (whole.tiles * kTilesBeside + kPlaces - 1) / kPlaces;
    if (whole.longest <= share * waves + kJoining / kTileKv) return kAllBlocks;
    share = whole.blocks * kTilesBeside / kPlaces;
    most_tiles = max(whole.tiles, p.tiles / kTilesBeside);
  }
  return fewest_blocks(static_cast<int>(ceilf(share)), most_tiles, p);
}
