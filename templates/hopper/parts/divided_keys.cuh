// Quotients and remainders of keys by numbers. If it is a multiple of eight, and blocks are
// multiples of it or divide it, a part is the same for all keys of a block and the compiler knows
// the rest but for a lane's place in eight columns. `column` is the key's place from the thread's
// first of the block.
#pragma once

struct KeyPlace {
  int first, place;  // the block's first key, and the key's place from there

  __device__ __forceinline__ KeyPlace(int kv_idx, int column)
      : place(column + threadIdx.x % 4 * 2) {
    first = (kv_idx - place) / kTileKv * kTileKv;  // of keys beyond the last one, some block's
  }
};

template <int n>
__device__ __forceinline__ int key_quotient(int kv_idx, int column) {
  const KeyPlace key(kv_idx, column);
  if constexpr (n % kTileKv == 0) return key.first / n;
  if constexpr (kTileKv % n == 0 && n % 8 == 0) return key.first / n + key.place / n;
  return kv_idx / n;
}

template <int n>
__device__ __forceinline__ int key_remainder(int kv_idx, int column) {
  const KeyPlace key(kv_idx, column);
  if constexpr (n % kTileKv == 0) return key.first % n + key.place;
  if constexpr (kTileKv % n == 0 && n % 8 == 0) return key.place % n;
  return kv_idx % n;
}
