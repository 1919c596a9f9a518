// What surrounds emitted device code on a host, as text: CUDA's own names, a row's loop over its
// blocks, what the kernel before the main one leaves.
#pragma once

namespace attngen::emit {

// What CUDA gives and the host lacks.
inline constexpr const char* kShim = R"(
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <algorithm>
#include <barrier>
#include <thread>
#define __device__
#define __host__
#define __forceinline__ inline
using std::isinf; using std::isnan; using std::max; using std::min;
template <class T> T __ldg(const T* p) { return *p; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float __uint_as_float(uint32_t x) { float y; memcpy(&y, &x, 4); return y; }
inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
inline int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
inline float half_to_float(uint16_t x) {  // of normal numbers and zero
  const float y = ldexpf(1 + (x & 1023) / 1024.0f, (x >> 10 & 31) - 15);
  return (x & 0x7fff) == 0 ? 0 : x >> 15 ? -y : y;
}
inline float bf16_to_float(uint16_t x) { return __uint_as_float(static_cast<uint32_t>(x) << 16); }
static thread_local int lane;
static float exchange[4];
static std::barrier quad(4);
struct { struct { operator int() const { return lane; } } x; } const threadIdx;
inline unsigned __ballot_sync(unsigned, bool vote) {
  exchange[lane] = vote;
  quad.arrive_and_wait();
  unsigned votes = 0;
  for (int i = 0; i < 4; ++i) votes |= static_cast<unsigned>(exchange[i]) << i;
  quad.arrive_and_wait();
  return votes;
}
struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
struct uint4;
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline bool __all_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) == 15; }
inline bool __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline float __shfl_sync(unsigned, float x, int from) {
  exchange[lane] = x;
  quad.arrive_and_wait();
  const float other = exchange[from];
  quad.arrive_and_wait();
  return other;
}
inline float __shfl_xor_sync(unsigned, float x, int mask) {
  exchange[lane] = x;
  quad.arrive_and_wait();
  const float y = exchange[lane ^ mask];
  quad.arrive_and_wait();
  return y;
}
)";

// A row as the template's consumer does it: blocks from the last to the first, a tile of four rows
// deciding what is visited and what is full.
inline constexpr const char* kDriver = R"(
static void run_row(int b, int h, int map, int q, int seq_q, int seq_kv, const Inputs& in) {
  Row row{b, h, h / (kHeadsQ / kHeadsKv), q, q + seq_kv - seq_q, seq_q, seq_kv};
  SET_MAP
  SET_CONSTANTS
  const int first = q / 4 * 4, last = min(first + 3, seq_q - 1);
  const KeyRange keys = key_range(first, last, row, in);
  ROW_KEYS
  const int begin = keys.begin / kTileKv;
  const int end = keys.end > keys.begin ? (keys.end + kTileKv - 1) / kTileKv : 0;
  const int full_begin = (keys.full_begin + kTileKv - 1) / kTileKv;
  const int full_end = keys.full_end / kTileKv;
  Reductions red;
  float acc = 0;
  for (int block = end - 1; block >= begin; --block) {
    const int kv_first = block * kTileKv + lane * 2;
    BIASES
    MASK_BITS
    BLOCK
    float scores[kTileKv / 8][2][2];
    for (int j = 0; j < kTileKv / 8; ++j) {
      for (int e = 0; e < 2; ++e) {
        const int key = kv_first + 8 * j + e;
        scores[j][0][e] = scores[j][1][e] =
            key < seq_kv
                ? product[(((b * kHeadsQ + h) * kMaps + map) * seq_q + q) * seq_kv + key]
                : 0;
      }
    }
    ABSORB
    for (int j = 0; j < kTileKv / 8; ++j) {
      for (int e = 0; e < 2; ++e) {
        const int key = kv_first + 8 * j + e;
        acc += scores[j][0][e] * (key < seq_kv ? value[(b * kHeadsKv + row.h_kv) * seq_kv + key] : 0);
      }
    }
  }
  acc += __shfl_xor_sync(0xffffffffu, acc, 1);
  acc += __shfl_xor_sync(0xffffffffu, acc, 2);
  const RowValues values = row_values(complete(red), row, in);
  if (lane == 0) {
    OUTPUT_COLUMN
    output[(b * kHeadsQ + h) * seq_q + q] += output_of(acc, AT values, row, in);
    store_saves(saves, values, row, in);
  }
}
)";

// What the template's pre-pass does, for tiles of four queries.
inline constexpr const char* kTabulate = R"(
static int4 entries[4][1024];
static void tabulate(Inputs in, int seq_q, int seq_kv) {
  for (int table = 0; table < sizeof(in.attn_tables) / sizeof(int4*); ++table) {
    const TableShape shape = table_shape(table);
    const int size = shape.of_keys ? kTileKv : kTileQueries;
    const int length = shape.of_keys ? seq_kv : seq_q;
    int4* entry = entries[table];
    for (int b = 0; b < kBatch; ++b) for (int head = 0; head < shape.heads; ++head) {
      for (int first = 0; first < length; first += size, ++entry) {
        Ids ids{INT32_MAX, INT32_MIN, 0};
        for (int i = first; i < min(first + size, length); ++i) {
          const int h_kv = shape.heads == kHeadsKv ? head : head / (kHeadsQ / kHeadsKv);
          const Row row{b, head, h_kv, i, i + seq_kv - seq_q, seq_q, seq_kv};
          const int id = tabulated(table, row, i, in);
          ids.least = min(ids.least, id);
          ids.greatest = max(ids.greatest, id);
          ids.bits |= uint64_t{1} << bit_of(id);
        }
        *entry = packed_ids(ids);
      }
    }
  }
}
)";

// And for a table of pairs.
inline constexpr const char* kAskPairs = R"(
static int4 entries[1][1024];
static void tabulate(Inputs in, int seq_q, int seq_kv) {
  for (int b = 0; b < kBatch; ++b) for (int h = 0; h < kHeadsQ; ++h) {
    for (int first = 0; first < seq_q; first += kTileQueries) {
      for (int kv_first = 0; kv_first < seq_kv; kv_first += kTileKv) {
        bool any = false, all = true;
        Row row{b, h, h / (kHeadsQ / kHeadsKv), first, first + seq_kv - seq_q, seq_q, seq_kv};
        const int64_t entry = pair_entry(first, kv_first, row);
        for (; row.q_idx < min(first + kTileQueries, seq_q); ++row.q_idx, ++row.q_pos) {
          for (int key = kv_first; key < min(kv_first + kTileKv, seq_kv); ++key) {
            const bool holds = HOLDS;
            any |= holds;
            all &= holds;
          }
        }
        entries[0][entry] = packed_pairs(any, all);
      }
    }
  }
}
)";

// In the place of a tile in shared memory: a thread's elements of one row.
inline constexpr const char* kBiases = R"(
struct Biases {
  const uint8_t* rows[2];
  static Biases load(const uint8_t* first, const uint8_t* second) { return {{first, second}}; }
  float operator()(int j, int r, int e) const {
    return reinterpret_cast<const float(*)[2]>(rows[r])[j][e];
  }
};
)";

// Likewise, of bits.
inline constexpr const char* kBitsOfRow = R"(
struct MaskBits {
  const uint32_t* x;
  bool operator()(int j, int e) const { return x[2 * j + e] != 0; }
};
static MaskBits load_mask_bits(const uint32_t* bits) { return {bits}; }
)";

}  // namespace attngen::emit
