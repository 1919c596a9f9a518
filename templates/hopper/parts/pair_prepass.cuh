// A mask of which no bounds tell: before the kernel, a small one asks it of every pair, so that the
// producer can pass over blocks without one, and nobody tests those that have all.
#pragma once

constexpr int kTableThreads = 256;

// Lanes vote on four keys each, a vote a key. Where a query's keys leave lanes over, others'
// queries share the votes.
constexpr int kVoteQueries = kTileKv <= 16 ? 8 : kTileKv <= 32 ? 4 : kTileKv <= 64 ? 2 : 1;
constexpr int kVoteLanes = 32 / kVoteQueries;  // of a query
__device__ __forceinline__ int query_of_lane() { return threadIdx.x % 32 / kVoteLanes; }

// Each warp has a share of the queries, no more than it has lanes.
constexpr int kTableWarps = kTableThreads / 32;
constexpr int kWarpQueries =
    (kTileQueries + kTableWarps * kVoteQueries - 1) / (kTableWarps * kVoteQueries) * kVoteQueries;
static_assert(kWarpQueries <= 32, "a lane keeps a query's bits");

// What an entry is about: the first query's row and the first key, and how many there are.
struct Pairs {
  Row row;
  int kv_first, queries, keys;

  __device__ __forceinline__ bool whole() const {
    return queries == kTableWarps * kWarpQueries && keys == kTileKv;
  }
};

__device__ __forceinline__ Pairs pairs_of(int64_t entry, const Params& p) {
  const int tiles = (p.seq_q + kTileQueries - 1) / kTileQueries;
  const int blocks = (p.seq_kv + kTileKv - 1) / kTileKv;
  const int q_first = static_cast<int>(entry / blocks % tiles) * kTileQueries;
  const int kv_first = static_cast<int>(entry % blocks) * kTileKv;
  const int plane = static_cast<int>(entry / blocks / tiles);
  // Of the query heads that share the answer the first one asks.
  const int h = plane % kPairHeads * (kHeadsQ / kPairHeads);
  return {row_at(plane / kPairHeads, h, q_first, p), kv_first, min(kTileQueries, p.seq_q - q_first),
          min(kTileKv, p.seq_kv - kv_first)};
}

// The votes on a query's keys: of each 128 keys four, and vote e has lane l's key 4 l + e.
using Votes = uint32_t[kMaskWords];

// Lanes that stand for a key.
__device__ __forceinline__ constexpr uint32_t lanes_of_vote(int vote) {
  const int lanes = kTileKv / 4 - vote / 4 * 32;
  uint32_t all = lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1;
  for (int i = kVoteLanes; i < 32; i *= 2) all |= all << i;
  return all;
}

// The lane's first key of four, in the block.
__device__ __forceinline__ int first_of_four(int vote) {
  const int lane = threadIdx.x % kVoteLanes;
  return min(vote / 4 * 128 + lane * 4, kTileKv - 4);
}

// Of the queries from `query` on. `kWhole`: all pairs are there; otherwise the last ones are asked
// twice, so that no load waits for a branch.
template <bool kWhole>
__device__ __forceinline__ void ask(bool (&holds)[kMaskWords], const Pairs& pairs, int query,
                                    const Inputs& in) {
  query += query_of_lane();
  const Row row = row_after(pairs.row, kWhole ? query : min(query, pairs.queries - 1));
#pragma unroll
  for (int vote = 0; vote < kMaskWords; ++vote) {
    const int key = first_of_four(vote) + vote % 4;
    const bool exists = kWhole || (query < pairs.queries && key < pairs.keys);
    const int kv_idx = pairs.kv_first + (kWhole ? key : min(key, pairs.keys - 1));
#if ATTN_PAIR_BYTES
    holds[vote] = exists & mask_holds(row, __ldg(first_byte(row, in) + kv_idx), kv_idx, in);
#else
    holds[vote] = exists & mask_holds(row, kv_idx, in);
#endif
  }
}

__device__ __forceinline__ int first_query_of_warp() {
  return uniform(static_cast<int>(threadIdx.x) / 32) * kWarpQueries;
}

// A warp asks of some queries at once: all loads are on their way before the first vote.
template <int kMost>
constexpr int kVotesAtOnce =
    kWarpQueries / kVoteQueries % kMost == 0 ? kMost : kVotesAtOnce<kMost / 2>;
template <>
constexpr int kVotesAtOnce<1> = 1;

// What a warp has found.
struct Found {
  uint32_t any = 0, missing = 0;
  Votes own = {};  // on the lane's query: the first one's on lane 0

  // On the queries from `query` on, which are the warp's `turn`-th to vote on.
  template <bool kWhole>
  __device__ __forceinline__ void add(const Pairs& pairs, int query, int turn, const Votes& votes) {
    const bool counts = query + query_of_lane() < pairs.queries;
    const uint32_t counted = kWhole ? 0xffffffffu : __ballot_sync(0xffffffffu, counts);
    const bool keeps = threadIdx.x % 32 / kVoteQueries == turn;
#pragma unroll
    for (int i = 0; i < kMaskWords; i += 4) {
      any |= votes[i] | votes[i + 1] | votes[i + 2] | votes[i + 3];
      const uint32_t all = votes[i] & votes[i + 1] & votes[i + 2] & votes[i + 3];
      missing |= lanes_of_vote(i) & counted & ~all;
#pragma unroll
      for (int e = 0; e < 4; ++e) own[i + e] = keeps ? votes[i + e] : own[i + e];
    }
  }
};

// The votes on 128 keys as the threads of a row of scores take them (MaskBits): of lanes 2 j,
// threads 0 and 1 have the first two votes' bits side by side and the last two's, of lanes 2 j + 1
// threads 2 and 3.
__device__ __forceinline__ uint4 by_threads(const uint32_t* votes) {
  constexpr uint32_t kEven = 0x55555555u;
  const auto of_even = [](uint32_t x, uint32_t y) { return (x & kEven) | (y << 1 & ~kEven); };
  const auto of_odd = [](uint32_t x, uint32_t y) { return (x >> 1 & kEven) | (y & ~kEven); };
  return {of_even(votes[0], votes[1]), of_even(votes[2], votes[3]), of_odd(votes[0], votes[1]),
          of_odd(votes[2], votes[3])};
}

// Each lane writes its query's bits. `bits`: of the tile and the block.
__device__ __forceinline__ void store(uint4* bits, const Found& found) {
  const int lane = threadIdx.x % 32, query = first_query_of_warp() + lane;
  if (lane >= kWarpQueries || query >= kTileQueries) return;
#pragma unroll
  for (int i = 0; i < kMaskWords; i += 4) {
    uint32_t votes[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) votes[e] = found.own[i + e] >> lane % kVoteQueries * kVoteLanes;
    bits[(query * kMaskWords + i) / 4] = by_threads(votes);
  }
}

template <bool kWhole>
__device__ __forceinline__ Found ask_all(const Pairs& pairs, const Inputs& in) {
  constexpr int kAtOnce = kVotesAtOnce<4>;
  const int begin = first_query_of_warp();
  Found found;
#pragma unroll 1
  for (int turn = 0; turn < kWarpQueries / kVoteQueries; turn += kAtOnce) {
    const int first = begin + turn * kVoteQueries;
    bool holds[kAtOnce][kMaskWords];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      ask<kWhole>(holds[n], pairs, first + n * kVoteQueries, in);
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      Votes votes;
#pragma unroll
      for (int i = 0; i < kMaskWords; ++i) {
        votes[i] = __ballot_sync(0xffffffffu, holds[n][i]) & lanes_of_vote(i);
      }
      found.add<kWhole>(pairs, first + n * kVoteQueries, turn + n, votes);
    }
  }
  return found;
}

#if ATTN_PAIR_BYTES
#include "pair_bytes.cuh"
#endif
__device__ __forceinline__ Found found_in(const Pairs& pairs, const Params& p) {
#if ATTN_PAIR_BYTES
  if (pairs.whole() && begin_words(p)) return ask_all_bytes<true>(pairs, p.inputs);
  if (pairs.whole() && has_words(pairs, p)) return ask_all_bytes<false>(pairs, p.inputs);
#else
  if (pairs.whole()) return ask_all<true>(pairs, p.inputs);
#endif
  return ask_all<false>(pairs, p.inputs);
}

// Whether the block is among those that the tile's rows may need.
__device__ __forceinline__ bool may_be_asked(const Pairs& pairs, const Inputs& in) {
  const int q_first = pairs.row.q_idx;
  const KeyRange keys = key_range(q_first, q_first + pairs.queries - 1, pairs.row, in);
  return pairs.kv_first < keys.end && pairs.kv_first + pairs.keys > keys.begin;
}

__global__ void __launch_bounds__(kTableThreads)
    attention_forward_prepare(const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  call_next_kernel();
  wait_for_stream();
#if ATTN_TILES_COUNTED
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.next_tile = 0;
#endif
  const int64_t entries = p.seq_kv > 0 ? table_entries<int64_t>(p) : 0;
#pragma unroll 1
  for (int64_t entry = blockIdx.x; entry < entries; entry += gridDim.x) {
    const Pairs pairs = pairs_of(entry, p);
    if (!may_be_asked(pairs, p.inputs)) continue;
    const Found found = found_in(pairs, p);
    store(p.inputs.attn_mask_bits + entry * (kMaskBytes / 16), found);
    const bool any = __syncthreads_or(found.any != 0);
    const bool all = !__syncthreads_or(found.missing != 0);
    if (threadIdx.x == 0) p.inputs.attn_tables[0][entry] = packed_pairs(any, all);
  }
}
