// Keys and values of a cache in pages of so few keys that TMA has no boxes for them, or the least
// alone: how a warp brings a block of them, row by row.
#pragma once

constexpr int kRowsOfLane = (kTileKv + 31) / 32;

// The pages of a block's rows: of row 32 i + l in lane l.
struct RowPages {
  int pages[kRowsOfLane];
  int block = -1;  // none yet
#if ATTN_GATHER
  int second;  // that stands below it; none: -1
#endif

  __device__ __forceinline__ int row(int i) const { return 32 * i + threadIdx.x % 32; }
#if ATTN_GATHER
  __device__ __forceinline__ int key(int row) const {
    const int begin = row < kBlockKv ? block : second;
    return begin < 0 ? -1 : begin * kBlockKv + row % kBlockKv;
  }
#else
  __device__ __forceinline__ int key(int row) const { return block * kTileKv + row; }
#endif
  __device__ void look_up(const PageTable& table);
  __device__ void check(const Params& p);
  template <int kChunk>
  __device__ void tell(const Rows& rows, int (&places)[kTileKv]) const;
};

// Of the block.
__device__ __forceinline__ void RowPages::look_up(const PageTable& table) {
#pragma unroll
  for (int i = 0; i < kRowsOfLane; ++i) {
    pages[i] = row(i) < kTileKv ? table.page_of(key(row(i))) : -1;
  }
}

// What is no page, once the table has answered.
__device__ __forceinline__ void RowPages::check(const Params& p) {
#pragma unroll
  for (int i = 0; i < kRowsOfLane; ++i) pages[i] = existing(pages[i], p);
}

// Where the rows begin, to who copies chunks of so many columns.
template <int kChunk>
__device__ __forceinline__ void RowPages::tell(const Rows& rows, int (&places)[kTileKv]) const {
  int* const first = &places[CopyRounds<kChunk>::index(row(0))];
#pragma unroll
  for (int i = 0; i < kRowsOfLane; ++i) {
    if (row(i) < kTileKv) first[32 * i] = place_of(rows, pages[i], key(row(i)));
  }
}

// To a slot, from where its places say.
__device__ __forceinline__ void copy_keys(Shared& shared, int slot, int h_kv, const Params& p) {
#if ATTN_MAPS > 1
#pragma unroll 1
  for (int map = 0; map < kMaps; ++map) {
    copy_rows<0, kChunksQk, kChunkQk>(p.k.data + (kMaps * h_kv + map) * p.k.stride_head,
                                      shared.key_places, shared.key[slot][map], kHeadDimQk);
  }
#else
  copy_rows<0, kChunksQk, kChunkQk>(p.k.data + h_kv * p.k.stride_head, shared.key_places,
                                    shared.key[slot], kHeadDimQk);
#endif
  arrive_once_copied(shared.key_full[slot]);
}
#if !ATTN_SHARE_KV

__device__ __forceinline__ void copy_values(Shared& shared, int slot, const Tile& tile,
                                            const Params& p) {
  const uint8_t* const from = p.v.data + tile.h / kGroup * p.v.stride_head;
#if ATTN_VALUE_PARTS > 1
  const int first_column = tile.part * kHeadDimV;
  copy_rows<0, kChunksV, kChunkV>(from + first_column * kElementBytes, shared.value_places[slot],
                                  shared.value[slot], kOutputDim - first_column);
#else
  copy_rows<0, kChunksV, kChunkV>(from, shared.value_places[slot], shared.value[slot], kHeadDimV);
#endif
  arrive_once_copied(shared.value_full[slot]);
}
#endif
