// A mask that reads a byte of each pair: those of a lane's four keys lie side by side, in a word of
// memory or in two.
#pragma once

// `kAligned`: in one.
template <bool kAligned>
struct FourBytes {
  uint32_t low, high = 0;
  uint32_t moved = 0;  // bits

  __device__ __forceinline__ void load(const uint8_t* first) {
    const auto address = reinterpret_cast<uintptr_t>(first);
    if (kAligned) {
      low = __ldg(reinterpret_cast<const uint32_t*>(address));
      return;
    }
    const auto* const words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
    moved = static_cast<uint32_t>(address) % 4 * 8;
    low = __ldg(words);
    if (moved > 0) high = __ldg(words + 1);
  }
  __device__ __forceinline__ int operator[](int i) const {
    const uint32_t word = kAligned ? low : __funnelshift_r(low, high, moved);
    return static_cast<int>(word >> 8 * i & 0xff);
  }
};

// Whether all rows begin with a word.
__device__ __forceinline__ bool begin_words(const Params& p) {
  return reinterpret_cast<uintptr_t>(all_bytes(p.inputs)) % 4 == 0 && p.seq_kv % 4 == 0;
}

// Otherwise words hold up to three bytes before the first pair and behind the last, which must be
// the tensor's.
__device__ __forceinline__ bool has_words(const Pairs& pairs, const Params& p) {
  const uint8_t* const begin = all_bytes(p.inputs);
  const uint8_t* const end = begin + byte_matrices(p.batch) * p.seq_q * p.seq_kv;
  const uint8_t* const first = first_byte(pairs.row, p.inputs) + pairs.kv_first;
  const uint8_t* const last =
      first_byte(row_after(pairs.row, kTileQueries - 1), p.inputs) + pairs.kv_first + kTileKv - 1;
  return first - begin >= 3 && end - last > 3;
}

// Of a whole tile.
template <bool kAligned>
__device__ __forceinline__ Found ask_all_bytes(const Pairs& pairs, const Inputs& in) {
  constexpr int kMost = kAligned ? 16 : 8, kAtOnce = kVotesAtOnce<kMost>;
  const int begin = first_query_of_warp();
  Found found;
#pragma unroll 1
  for (int turn = 0; turn < kWarpQueries / kVoteQueries; turn += kAtOnce) {
    const int first = begin + turn * kVoteQueries;
    FourBytes<kAligned> bytes[kAtOnce][kMaskWords / 4];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const Row row = row_after(pairs.row, first + n * kVoteQueries + query_of_lane());
      const uint8_t* const of_block = first_byte(row, in) + pairs.kv_first;
#pragma unroll
      for (int i = 0; i < kMaskWords; i += 4) bytes[n][i / 4].load(of_block + first_of_four(i));
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int query = first + n * kVoteQueries;
      const Row row = row_after(pairs.row, query + query_of_lane());
      Votes votes;
#pragma unroll
      for (int i = 0; i < kMaskWords; ++i) {
        const int kv_idx = pairs.kv_first + first_of_four(i) + i % 4;
        const bool holds = mask_holds(row, bytes[n][i / 4][i % 4], kv_idx, in);
        votes[i] = __ballot_sync(0xffffffffu, holds) & lanes_of_vote(i);
      }
      found.add<true>(pairs, query, turn + n, votes);
    }
  }
  return found;
}
