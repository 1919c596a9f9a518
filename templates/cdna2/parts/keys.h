// Tiles of keys: global memory, registers, LDS, fragments.
//
// A row of LDS is a key's columns in chunks of 16 bytes. Eight chunks make the 128 bytes that the
// 32 banks deliver at once. Where a row is a multiple of that, a chunk's place among eight is
// exchanged by the row's number; otherwise rows are an odd number of chunks apart. Either way eight
// lanes that read one chunk of eight rows meet all banks once.
#pragma once

constexpr int kChunksQk = 2 * kStepsQk;  // of a key, padded to whole steps with zeros
constexpr bool kKeysExchanged = kChunksQk % 8 == 0;
constexpr int kKeyPitch = kChunksQk + (kKeysExchanged ? 0 : 1);  // chunks from key to key
constexpr int kKeyBytes = kTileKv * kKeyPitch * 16;

__device__ __forceinline__ int key_place(int row, int chunk) {
  return (row * kKeyPitch + (kKeysExchanged ? chunk ^ row % 8 : chunk)) * 16;
}
// From the place of a row's chunk 0 or 1 to that of the chunk 2 `step` further on.
__device__ __forceinline__ int key_place_at(int place, int step) {
  return kKeysExchanged ? (place ^ step % 4 * 32) + step / 4 * 128 : place + step * 32;
}

constexpr int ceil_power_of_two(int n) { return n <= 1 ? 1 : 2 * ceil_power_of_two((n + 1) / 2); }

// How the block's threads share a tile: kLanes threads a key, kPasses keys each.
struct KeyShare {
  static constexpr int kLanes = ceil_power_of_two(kChunksQk);
  static constexpr int kRows = kThreads / kLanes;  // of a pass
  static constexpr int kPasses = (kTileKv + kRows - 1) / kRows;
  static constexpr bool kWhole = kLanes == kChunksQk && kTileKv % kRows == 0;
};

class KeyCopy {
 public:
#if ATTN_PAGE_ROWS
  __device__ __forceinline__ KeyCopy()
      : row_(threadIdx.x / KeyShare::kLanes), place_(key_place(row_, chunk())) {}
  // Pass i: which key of the tile; of it all passes copy the same bytes, if it has them.
  __device__ __forceinline__ int row(int i) const { return row_ + i * KeyShare::kRows; }
  __device__ __forceinline__ static int byte() { return chunk() * 16; }
  __device__ __forceinline__ static bool has_columns() { return chunk() < kHeadDimQk / 8; }
#else
  __device__ __forceinline__ KeyCopy(int64_t stride) {
    const int row = threadIdx.x / KeyShare::kLanes, chunk = threadIdx.x % KeyShare::kLanes;
    source_ = chunk < kHeadDimQk / 8 ? (row * static_cast<int>(stride) + chunk * 8) * kElementBytes
                                     : kOutside;
    step_ = chunk < kHeadDimQk / 8 ? KeyShare::kRows * static_cast<int>(stride) * kElementBytes : 0;
    place_ = key_place(row, chunk);
  }
  // Pass i: 16 bytes from global memory.
  __device__ __forceinline__ Words4 load(const Resource& tile, int i) const {
    return buffer_load<Words4>(tile, source_ + i * step_);
  }
#endif
  __device__ __forceinline__ void store(uint8_t* keys, int i, const Words4& words) const {
    const int row = threadIdx.x / KeyShare::kLanes + i * KeyShare::kRows;
    const int chunk = threadIdx.x % KeyShare::kLanes;
    const int place = KeyShare::kRows % 8 == 0 ? place_ + i * KeyShare::kRows * kKeyPitch * 16
                                               : key_place(row, chunk);
    if (KeyShare::kWhole || (chunk < kChunksQk && row < kTileKv)) {
      *reinterpret_cast<Words4*>(keys + place) = words;
    }
  }
  __device__ __forceinline__ void pin_addresses() {
#if ATTN_PAGE_ROWS
    pin(row_);
#else
    pin(source_);
#endif
    pin(place_);
  }

 private:
#if ATTN_PAGE_ROWS
  __device__ __forceinline__ static int chunk() { return threadIdx.x % KeyShare::kLanes; }

  int row_, place_;
#else
  int source_, step_, place_;
#endif
};
