// Copies of biases whose rows TMA cannot take, by warps beside the producer's: each lane's 16 bytes
// at a time, from the chunk in which a row's keys begin to the one in which they end.
#pragma once

constexpr int kRowChunks = kBiasRowBytes / kCopyChunk;
constexpr int kCopyLanes = 8;  // side by side in a row
constexpr int kRowsTogether = 32 / kCopyLanes, kCopyStep = kRowsTogether * kCopiers;

// One of kCopiers warps. They share a tile's rows, and the barrier of its keys waits for all.
struct BiasCopier {
  Shared& shared;
  const Params& p;
  const int copier;
  const int lane = threadIdx.x % 32;
  RingSlot<kStages> slot;

  __device__ void copy_row(uint64_t row, uint8_t* to) const;
  __device__ void copy_part_of_row(const BiasRows& rows, int i, uint8_t* to) const;
  __device__ void clear_row(uint8_t* to) const;
  __device__ void copy_tile(const BiasRows& rows, uint8_t* tile) const;
  __device__ void copy(const Tile& tile, int block) const;
  __device__ void run();
};

// The lane's chunks of a row that begins there in memory. `to`: where the first one goes.
__device__ __forceinline__ void BiasCopier::copy_row(uint64_t row, uint8_t* to) const {
  const int first = lane % kCopyLanes;
  // One address for all, and of each row its own: what took its place would wait until a copy has
  // read it.
  uint64_t from = (row + first * kCopyChunk) / kCopyChunk * kCopyChunk;
  pin(from);
#pragma unroll
  for (int i = 0; i < kRowChunks; i += kCopyLanes) {
    if (i + kCopyLanes > kRowChunks && first + i >= kRowChunks) continue;
    copy_chunk(to + i * kCopyChunk, reinterpret_cast<const void*>(from + i * kCopyChunk));
  }
}

// The same of row i, less what is not there: zeros in its place. Nothing is asked for beyond the
// tensor's end: what is of its last chunk comes byte by byte.
__device__ __forceinline__ void BiasCopier::copy_part_of_row(const BiasRows& rows, int i,
                                                             uint8_t* to) const {
  uint64_t chunk = rows.row(i) / kCopyChunk * kCopyChunk + lane % kCopyLanes * kCopyChunk;
#pragma unroll 1
  for (int n = lane % kCopyLanes; n < kRowChunks; n += kCopyLanes) {
    const int count = rows.count(i, chunk);
    const auto* const from = reinterpret_cast<const uint8_t*>(chunk);
    if (count <= 0) {
      *reinterpret_cast<uint4*>(to) = uint4{0, 0, 0, 0};
    } else if (chunk + kCopyChunk <= rows.end) {
      copy_bytes(count, to, from);
    } else {
#pragma unroll 1
      for (int byte = 0; byte < kCopyChunk; ++byte) {
        to[byte] = byte < count ? __ldg(from + byte) : 0;
      }
    }
    chunk += kCopyLanes * kCopyChunk;
    to += kCopyLanes * kCopyChunk;
  }
}

__device__ __forceinline__ void BiasCopier::clear_row(uint8_t* to) const {
#pragma unroll
  for (int i = 0; i < kRowChunks; i += kCopyLanes) {
    if (i + kCopyLanes > kRowChunks && lane % kCopyLanes + i >= kRowChunks) continue;
    *reinterpret_cast<uint4*>(to + i * kCopyChunk) = uint4{0, 0, 0, 0};
  }
}

// Of every kCopyStep rows of a tile, kRowsTogether.
__device__ __forceinline__ void BiasCopier::copy_tile(const BiasRows& rows, uint8_t* tile) const {
  const int first = copier * kRowsTogether + lane / kCopyLanes;
  uint8_t* const to = tile + first * kBiasRowBytes + lane % kCopyLanes * kCopyChunk;
#if ATTN_PACKED_HEADS && !ATTN_BIAS_GROUPED
  // A lane's rows must be of one head: then they are as far from one another.
  if (kCopyStep % kGroupRows == 0 && rows.whole()) {
#else
  if (rows.whole()) {
#endif
    uint64_t row = rows.row(first);
    const uint64_t step = rows.row(first + kCopyStep) - row;
#pragma unroll
    for (int i = 0; i < kBiasRows; i += kCopyStep) {
      const bool has_row = kBiasRows % kCopyStep == 0 || first + i < kBiasRows;
      if (has_row) copy_row(row, to + i * kBiasRowBytes);
      row += step;
    }
  } else {
#pragma unroll 1
    for (int i = 0; first + i < kBiasRows; i += kCopyStep) {
      if (rows.has_row(first + i)) {
        copy_part_of_row(rows, first + i, to + i * kBiasRowBytes);
      } else {
        clear_row(to + i * kBiasRowBytes);
      }
    }
  }
}

__device__ __forceinline__ void BiasCopier::copy(const Tile& tile, int block) const {
#if ATTN_PACKED_HEADS
  const Row row = row_at(tile.b, tile.h, tile.q_first / kGroupRows, p);
#else
  const Row row = row_at(tile.b, tile.h, tile.q_first, p);
#endif
  barrier_wait(shared.key_empty[slot.index], slot.parity ^ 1);
#pragma unroll 1
  for (int i = 0; i < kBiasTiles; ++i) {
    const BiasRows rows = bias_rows(tile.q_first + 64 * i, block * kTileKv, row, p);
    copy_tile(rows, shared.bias[slot.index][i]);
  }
  uint64_t& full = shared.key_full[slot.index];
  arrive_once_copied(full);
  barrier_arrive(full);  // what came at once is there
}

// Block after block, as the producer calls for them.
__device__ __forceinline__ void BiasCopier::run() {
  RingSlot<kBiasCalls> call;
#pragma unroll 1
  for (;; call.advance(), slot.advance()) {
    barrier_wait(shared.bias_called[call.index], call.parity);
    const int block = shared.bias_call[call.index].block;
    if (block < 0) return;
    copy(uniform(shared.bias_call[call.index].tile), block);
  }
}
