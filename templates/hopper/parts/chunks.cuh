#if ATTN_KEY_WEIGHTS
// Keys far behind a tile's queries, whose weights are products with what the row decides and what
// the key does:
//
//   weight(q, k) = product(q, k) factor(k) 2^(exponent(k) + what the row decides)
//
// Their part of the output is the product of the query with one matrix, the state
//
//   state(end) = sum over k < end of factor(k) 2^(exponent(k) - unit(end)) value_k key_k^T
//
// times the weight that a product of 1 has at a key whose exponent is the unit, which is the
// greatest of these keys' exponents. A kernel before this one leaves the state and its unit at the
// end of every chunk of keys, the state as the sum of two bf16 numbers: a query may be nearly
// orthogonal to it, and would then see its rounding.
#else
// Keys far behind a tile's queries, whose weights are products that decay evenly along the keys:
//
//   weight(q, k) = product(q, k) 2^(slope k + what the row decides)
//
// Their part of the output is the product of the query with one matrix, the state
//
//   state(end) = sum over k < end of 2^(slope (k - end)) value_k key_k^T
//
// times the weight that a product of 1 has at key `end`. A kernel before this one leaves the
// state at the end of every chunk of keys, as the sum of two bf16 numbers: a query may be
// nearly orthogonal to it, and would then see its rounding.
#endif
#pragma once

constexpr int kFewestQueries = ATTN_FEWEST_FAR_QUERIES;  // whose states are worth a kernel
constexpr int kChunkKeys = ATTN_CHUNK_KEYS;
constexpr int kChunkBlocks = kChunkKeys / kTileKv;
static_assert(kChunkBlocks % 2 == 0, "far keys are taken two blocks at a time");
// A state in memory: its high part and its low one, 64 rows after the other as they stand in a slot
// of keys.
constexpr int kStateParts = 2;
constexpr int kStateRowBlocks = kHeadDimV / 64;  // that a tile takes
constexpr int kStateSlots = kStateParts * kStateRowBlocks;
#if ATTN_VALUE_PARTS > 1
constexpr int kStatePartBytes = kOutputDim / 64 * kKeyBytes;
#else
constexpr int kStatePartBytes = kStateRowBlocks * kKeyBytes;
#endif
#if ATTN_KEY_SUMS
// Behind them stands the state of values of 1, whose product with the query is what its far weights
// add up to: the sum of the keys, fp32.
constexpr int kKeySumBytes = kHeadDimQk * sizeof(float);
constexpr int kStateBytes = kStateParts * kStatePartBytes + kKeySumBytes;
__device__ __forceinline__ float* key_sum_of(uint8_t* state) {
  return reinterpret_cast<float*>(state + kStateParts * kStatePartBytes);
}
#else
constexpr int kStateBytes = kStateParts * kStatePartBytes;
#endif
#if ATTN_KEY_WEIGHTS
constexpr float kLeastUnit = -1e30f;  // finite, so that a difference of two is no NaN
#endif
static_assert(kTileKv == 64 && kHeadDimV % 64 == 0 && kChunkQk == 64 && kChunkV == 64);

// Far keys and the slots of a state come through the ring of keys and, where its slots have room
// for keys, that of values in turn: no values come meanwhile.
constexpr bool kFarInValues = kValueBytes >= kKeyBytes;

#if ATTN_VARLEN
// Chunks of a sequence's keys, at whose ends there are states: of few keys none, as of few queries.
template <typename Lengths>
__device__ __forceinline__ int chunks_of(const Lengths& sequence, const Params& p) {
  if (p.chunks == 0 || min(sequence.seq_q, sequence.seq_kv) < kFewestQueries) return 0;
#if ATTN_MASKED
  return (sequence.seq_kv - 1) / kChunkKeys;  // no tile has the last key behind it
#else
  return sequence.seq_kv / kChunkKeys;
#endif
}

// Of all states that of the first chunk of a tile's or a row's keys. A sequence has its states
// where its keys lie among all keys, so that nobody has to count those before.
template <typename At>
__device__ __forceinline__ int64_t first_state(const At& at, const Params& p) {
  return int64_t{at.h} * p.chunks + at.kv_begin / kChunkKeys;
}
#else
// Of all states that of the first chunk of a tile's or a row's keys.
template <typename At>
__device__ __forceinline__ int64_t first_state(const At& at, const Params& p) {
  return (int64_t{at.b} * kHeadsQ + at.h) * p.chunks;
}
#endif

#if ATTN_FAR_MAY_FALL
// Whether the head of a row with its constants has far keys: of weights that fall along the keys a
// state, in the unit of its end, would grow without bound.
__device__ __forceinline__ bool has_far_keys(const Row& row, const Params& p) {
  return decay(row, 1, p.inputs) <= 1;
}

__device__ __forceinline__ bool has_far_keys(const Tile& tile, const Params& p) {
#if ATTN_VARLEN
  Row row = row_at(tile.b, tile.h, tile.q_first, tile);
#else
  Row row = row_at(tile.b, tile.h, tile.q_first, p);
#endif
#if ATTN_ROW_CONSTANTS
  set_constants(row, p.inputs);
#endif
  return has_far_keys(row, p);
}

#endif
// Blocks of keys that all rows of a tile see whole, and whose values its state holds.
#if ATTN_VARLEN
__device__ __forceinline__ int far_blocks(const Blocks& loaded, const Tile& tile, const Params& p) {
  const int chunks = chunks_of(tile, p);
#else
__device__ __forceinline__ int far_blocks(const Blocks& loaded, const Tile& tile, const Params& p) {
  const int chunks = p.chunks;
#endif
  if (loaded.full_begin > 0) return 0;
#if ATTN_FAR_MAY_FALL
  if (!has_far_keys(tile, p)) return 0;
#endif
  return min(max(loaded.full_end, 0) / kChunkBlocks, chunks) * kChunkBlocks;
}
