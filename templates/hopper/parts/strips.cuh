// Strips: values that pairs of a block share, because they depend on the key alone, or on how far
// it is from its query. A warpgroup computes each once, while the block's products run.
#pragma once

#if ATTN_DISTANCE_STRIP
// The distances of 64 rows; twice, the second time a word further, so that a thread's two columns
// lie at 8 bytes in one of them, and what other rows read at the same time in other banks.
constexpr int kDistances = kTileKv + 63;
constexpr int kDistanceRounds = (kDistances + 127) / 128;  // of the warpgroup's threads
constexpr int kStripWords = (kTileKv + 64 + 31) / 32 * 32 + 16;
#endif

#if (ATTN_KEY_STRIPS && !ATTN_STRIPS_BY_HEAD) || ATTN_KEY_WORDS
constexpr int kKeyRounds = (kTileKv + 127) / 128;
#endif
#if ATTN_STRIPS_BY_HEAD
// Each head that shares the tile has its own, in other banks than those of the other heads.
constexpr int kHeadStrip = kTileKv + 8;
constexpr int kHeadRounds = (kGroupRows * kTileKv + 127) / 128;
static_assert(8 % kGroupRows == 0, "a thread's two rows are of one head");
#endif
#if ATTN_STRIPS_BY_HEAD && ATTN_KEY_STRIPS > 1
constexpr int kKeyStrip = kGroupRows * kHeadStrip;
#elif ATTN_KEY_STRIPS > 1
constexpr int kKeyStrip = kTileKv;
#endif
#if ATTN_KEY_STRIPS > 1
constexpr int kKeyStrips = ATTN_KEY_STRIPS;
#endif
#if ATTN_KEY_WORDS
constexpr int kKeyWords = ATTN_KEY_WORDS;
#endif

struct __align__(16) Strips {
#if ATTN_STRIPS_BY_HEAD && ATTN_KEY_STRIPS > 1
  float of_key[kKeyStrips][kGroupRows][kHeadStrip];
#elif ATTN_STRIPS_BY_HEAD
  ATTN_KEY_VALUE of_key[kGroupRows][kHeadStrip];
#elif ATTN_KEY_STRIPS > 1
  float of_key[kKeyStrips][kTileKv];
#elif ATTN_KEY_STRIPS
  ATTN_KEY_VALUE of_key[kTileKv];
#endif
#if ATTN_DISTANCE_STRIP
  ATTN_DISTANCE_VALUE of_distance[2][kStripWords];
#endif
#if ATTN_KEY_WORDS
  int key_words[kKeyWords][kTileKv];
#endif
};

// The value of the thread's key `column`; a thread reads those of two neighbours at once.
#if ATTN_FLOAT_STRIPS
__device__ __forceinline__ float of_strip(const float* strip, int column) {
  const float2 pair = reinterpret_cast<const float2*>(strip)[column / 2];
  return column % 2 == 0 ? pair.x : pair.y;
}
#endif
#if ATTN_INT_STRIPS
__device__ __forceinline__ int of_strip(const int* strip, int column) {
  const int2 pair = reinterpret_cast<const int2*>(strip)[column / 2];
  return column % 2 == 0 ? pair.x : pair.y;
}
#endif
