// The keys of a query's list: two warps beside the producer's gather them and their values, row by
// row, into the tiles that TMA would fill. What is no key is zeros there.
#pragma once

#if ATTN_SHARE_KV
// One of the two warps that fill the ring of tiles of keys, each its chunks of columns.
#else
// A ring of tiles of keys, or of values, that one warp fills.
#endif
struct Gatherer {
  const Rows& rows;
  uint64_t *full, *empty;  // [kStages]
  int* places;             // [kTileKv]: where the rows that come next begin; -1: none
  const Params& p;
  const int lane = threadIdx.x % 32;
  RingSlot<kStages> slot;

  // In the order of a thread's bits (MaskBits), lane l has of every 128 keys those that stand at
  // 8 (l / 2) + 2 t + l % 2 for t = 0 to 3.
  __device__ __forceinline__ int column(int i) const {
    return i / 4 * 128 + lane / 2 * 8 + i % 4 * 2 + lane % 2;
  }
  __device__ void load_list(const List& list, int block, int (&keys)[kMaskWords]) const;
  template <int kHeadDim, int kBegin, int kEnd, int kChunk>
  __device__ void copy_rows(const uint8_t* from, uint8_t* tile) const;
  template <bool kFirst>
  __device__ void run(Shared& shared);
};

// The lane's keys of a block; none: -1.
__device__ __forceinline__ void Gatherer::load_list(const List& list, int block,
                                                    int (&keys)[kMaskWords]) const {
#pragma unroll
  for (int i = 0; i < kMaskWords; ++i) {
    const int entry = block * kTileKv + column(i);
    const bool listed = column(i) < kTileKv && entry < list.count;
    const int key = listed ? __ldg(&list.keys[entry]) : -1;
    keys[i] = key < p.seq_kv ? key : -1;
  }
}

// Of a block, to a tile, its chunks from kBegin to kEnd: by the lanes side by side as many columns
// as a chunk has. Several places are read before their copies are asked for, which the compiler
// moves no read across.
template <int kHeadDim, int kBegin, int kEnd, int kChunk>
__device__ __forceinline__ void Gatherer::copy_rows(const uint8_t* from, uint8_t* tile) const {
  constexpr int kGroups = kChunk / 8, kRows = 32 / kGroups, kTogether = 4;
  const int group = lane % kGroups;
  // Of wide rows one round at a time: the compiler would keep all their places in the tile.
  constexpr int kUnrolled = kEnd - kBegin > 2 ? 1 : kTileKv / kRows;
  from += group * kPlaceBytes;
#pragma unroll kUnrolled
  for (int i = 0; i < kTileKv / kRows; i += kTogether) {
    int place[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) place[j] = places[lane / kGroups + (i + j) * kRows];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
#pragma unroll
      for (int chunk = kBegin; chunk < kEnd; ++chunk) {
        const int column = chunk * kGroups + group, row = lane / kGroups + (i + j) * kRows;
        const bool padded = (chunk + 1) * kChunk > kHeadDim && column * 8 >= kHeadDim;
        copy_chunk_if(place[j] >= 0 && !padded, tile + swizzled<kChunk>(kTileKv, row, column),
                      from + int64_t{place[j]} * kPlaceBytes + chunk * kGroups * kPlaceBytes);
      }
    }
  }
}

#if ATTN_SHARE_KV
// Tile after tile, as the producer takes them. The first of the warps tells the mask.
#else
// Tile after tile, as the producer takes them. The first of the warps has the keys, and tells the
// mask.
#endif
template <bool kFirst>
__device__ __forceinline__ void Gatherer::run(Shared& shared) {
#pragma unroll 1
  for (int index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    const Tile tile = tile_at(index, p);
    const Blocks blocks = blocks_of(tile, tile.q_first, kTileQ, p);
    const List list = list_of(tile, p);
    const uint8_t* const from =
        rows.data + tile.b * rows.stride_batch + tile.h / kGroup * rows.stride_head;
#if ATTN_TOKEN_MASK
    const Row row = row_at(tile.b, tile.h, tile.q_first / kGroupRows, p);
#endif
    int keys[kMaskWords];
    load_list(list, blocks.first(), keys);
#pragma unroll 1
    for (int block = blocks.first(); blocks.has(block); block = Blocks::after(block)) {
      barrier_wait(empty[slot.index], slot.parity ^ 1);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kMaskWords; ++i) {
#if ATTN_TOKEN_MASK
        const bool exists = keys[i] >= 0 && mask_holds(row, keys[i], p.inputs);
#else
        const bool exists = keys[i] >= 0;
#endif
        if (column(i) < kTileKv) places[column(i)] = exists ? keys[i] * rows.stride_seq : -1;
        if constexpr (kFirst) {
          const uint32_t word = __ballot_sync(0xffffffffu, exists);
          if (lane == 0) reinterpret_cast<uint32_t*>(shared.mask[slot.index])[i] = word;
        }
      }
      if (kFirst && lane == 0) barrier_arrive(full[slot.index]);  // the mask is there
      __syncwarp();
      load_list(list, Blocks::after(block), keys);
#if ATTN_SHARE_KV
      constexpr int kHalf = kChunksQk / 2, kBegin = kFirst ? 0 : kHalf;
      constexpr int kEnd = kFirst ? kHalf : kChunksQk;
      copy_rows<kHeadDimQk, kBegin, kEnd, kChunkQk>(from, shared.key[slot.index]);
#else
      if constexpr (kFirst) {
        copy_rows<kHeadDimQk, 0, kChunksQk, kChunkQk>(from, shared.key[slot.index]);
      } else {
        copy_rows<kHeadDimV, 0, kChunksV, kChunkV>(from, shared.value[slot.index]);
      }
#endif
      arrive_once_copied(full[slot.index]);
      slot.advance();
    }
  }
}
