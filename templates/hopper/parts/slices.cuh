// What a block of the kernel of states loads, keys and values by slices, and the weights of keys.
#pragma once

constexpr int kStateThreads = 160;  // a warpgroup that multiplies, a warp that loads
constexpr int kPieceColumns = ATTN_STATE_COLUMNS;
constexpr int kPieceChunks = kPieceColumns / 64;
constexpr int kPieceRowBlocks = kStatePartBytes / kKeyBytes;  // of all values' columns
constexpr int kStateBlocks = kPieceRowBlocks * (kHeadDimQk / kPieceColumns);
constexpr int kValuePieceBytes = chunk_bytes(64, 64);
constexpr int kPieceBytes = kPieceChunks * kValuePieceBytes;  // of keys, and of a state
constexpr int kSliceStages = 8;                               // slices are blocks of keys

struct __align__(1024) StateShared {
  uint8_t key[kSliceStages][kPieceBytes];
  uint8_t value[kSliceStages][kValuePieceBytes];
  uint8_t state[kStateParts][kPieceBytes];  // on its way to memory
  uint64_t full[kSliceStages], empty[kSliceStages];
#if ATTN_KEY_WEIGHTS
  float greatest[4];  // exponent, of each warp's keys
#endif
#if ATTN_KEY_WEIGHTS || ATTN_KEY_SUMS
  float weight[kChunkKeys];  // of each key of a chunk, in the unit of the state
#endif
};

static_assert(sizeof(StateShared) <= 227 * 1024);

struct StatePlace {
  int row_block, column_block;
};

// `slot`: the next slice's.
__device__ __forceinline__ void load_slices(StateShared& shared, const TensorMaps& maps,
                                            const StatePlace& place, const Row& row, int slices,
                                            RingSlot<kSliceStages>& slot) {
#pragma unroll 1
  for (int slice = 0; slice < slices; ++slice) {
    barrier_wait(shared.empty[slot.index], slot.parity ^ 1);
    uint64_t& full = shared.full[slot.index];
#if ATTN_VARLEN
    const int first = row.kv_begin + slice * kTileKv, batch = 0;
#else
    const int first = slice * kTileKv, batch = row.b;
#endif
    barrier_expect(full, kPieceBytes + kValuePieceBytes);
#pragma unroll
    for (int chunk = 0; chunk < kPieceChunks; ++chunk) {
      tma_load(maps.k, full, shared.key[slot.index] + chunk * chunk_bytes(kTileKv, 64),
               kPieceColumns * place.column_block + 64 * chunk, first, row.h_kv, batch, kEvictLast);
    }
    tma_load(maps.v, full, shared.value[slot.index], 64 * place.row_block, first, row.h_kv, batch,
             kEvictLast);
    slot.advance();
  }
}

#if ATTN_KEY_WEIGHTS
// What the weights of a chunk's keys are made of, each thread's own. It is loaded a chunk ahead,
// since it may take a trip to memory.
template <int kKeys>
struct KeyWeights {
  static constexpr int kOwn = (kKeys + 127) / 128;  // of fewer keys than threads two have one
  float exponent[kOwn];
#if ATTN_KEY_FACTORS
  float factor[kOwn];
#endif
  float unit = kLeastUnit;  // the greatest exponent so far

  __device__ __forceinline__ void load(int first, const Row& row, const Inputs& in) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int key = (128 * i + static_cast<int>(threadIdx.x)) % kKeys;
      const int kv_idx = min(first + key, row.seq_kv - 1);
      exponent[i] = key_exponent(row, kv_idx, in);
#if ATTN_KEY_FACTORS
      factor[i] = key_factor(row, kv_idx, in);
#endif
    }
  }

  // The greatest exponent of them and `unit`: no weight is more than 1 then, whatever the exponents
  // are. All threads of the warpgroup call.
  template <typename Shared>
  __device__ __forceinline__ float greatest(Shared& shared) const {
    float own = unit;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) own = fmaxf(own, exponent[i]);
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      own = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, lanes));
    }
    if (threadIdx.x % 32 == 0) shared.greatest[threadIdx.x / 32] = own;
    named_sync(1, 128);
#pragma unroll
    for (int warp = 0; warp < 4; ++warp) own = fmaxf(own, shared.greatest[warp]);
    return own;
  }

  // The weights for all threads of the warpgroup, in a new unit: what is left of one in the last.
  template <typename Shared>
  __device__ __forceinline__ float hand_over(Shared& shared) {
    const float last = unit;
    unit = greatest(shared);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      float weight = exp2_approx(exponent[i] - unit);
#if ATTN_KEY_FACTORS
      weight *= factor[i];
#endif
      shared.weight[(128 * i + threadIdx.x) % kKeys] = weight;
    }
    named_sync(1, 128);
    return exp2_approx(last - unit);
  }
};
#endif
