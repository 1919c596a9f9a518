// A scan: calls with heads enough for the cores have it in the place of the kernels of states and
// of tiles. A thread block goes along a head's queries and keys, 64 of each at a time, and takes 64
// columns of the values. One warpgroup adds up the state of the keys so far. Two have queries, in
// turn: their output is that of the state and of the 64 keys at their own places. All is loaded
// once, and no state leaves the core.
#pragma once

constexpr int kScanRows = 64;  // of queries, and of keys: a chunk
constexpr int kScanParts = kHeadDimV / 64;
constexpr int kScanThreads = 4 * 128;  // in the last warpgroup a warp that loads, one that stores
constexpr int kScanValueBytes = chunk_bytes(64, 64);
constexpr int kScanStateBytes = kStateParts * kKeyBytes;
constexpr int kScanStates = kHeadDimQk > 128 ? 1 : 2;  // the last, and the next if there is room
constexpr int kScanSlotBytes = 2 * kKeyBytes + kScanValueBytes;
constexpr int kScanSlots =
    (224 * 1024 - kScanStates * kScanStateBytes - 2 * kScanValueBytes) / kScanSlotBytes;
// A warpgroup of queries passes over the other one's chunks, and would take the phase of a barrier
// that it missed for its own. So those that say that something is there are of one warpgroup each:
// chunk c has the (c mod kScanTurns)-th, and the second of two states'.
constexpr int kScanTurns = 2 * kScanSlots;

// Of a part's output, or of a state.
using ScanColumns = float[8][2][2];

struct __align__(1024) ScanShared {
  uint8_t query[kScanSlots][kKeyBytes], key[kScanSlots][kKeyBytes];
  uint8_t value[kScanSlots][kScanValueBytes];
  uint8_t state[kScanStates][kStateParts][kKeyBytes];
  uint8_t output[2][kScanValueBytes];  // of each warpgroup, on its way to memory
#if ATTN_STRIPS
  Strips strips[2];
#endif
  uint64_t query_full[kScanTurns], query_empty[kScanSlots];
  uint64_t pair_full[kScanTurns], pair_empty[kScanSlots];  // keys and values
  uint64_t state_full[2], state_empty[kScanStates];
  uint64_t output_full[2], output_empty[2];
  alignas(8) float weight[kScanRows];  // of a chunk's keys, in the unit of the state behind it
#if ATTN_KEY_SUMS
  alignas(8) float key_sum[kScanStates][kHeadDimQk];
#endif
#if ATTN_KEY_WEIGHTS
  float unit[kScanStates];
  float greatest[4];  // exponent, of each warp's keys
#endif
};

static_assert(sizeof(ScanShared) <= 227 * 1024 && kScanSlots >= 2);

__device__ __forceinline__ void init_barriers(ScanShared& shared) {
  // Of a warpgroup: one arrival each. Of what comes with a state each thread reads or writes some.
  constexpr int kWarps = 4, kLanes = 128;
  for (int turn = 0; turn < kScanTurns; ++turn) {
    barrier_init(shared.query_full[turn], 1);
    barrier_init(shared.pair_full[turn], 1);
  }
  for (int slot = 0; slot < kScanSlots; ++slot) {
    barrier_init(shared.query_empty[slot], kWarps);
    barrier_init(shared.pair_empty[slot], 2 * kWarps);
  }
  for (int place = 0; place < kScanStates; ++place) {
    barrier_init(shared.state_empty[place], kLanes);
  }
  for (int i = 0; i < 2; ++i) {
    barrier_init(shared.state_full[i], kLanes);
    barrier_init(shared.output_full[i], kWarps);
    barrier_init(shared.output_empty[i], 1);
  }
  publish_barriers();
}

// What a block goes along: a head, and 64 columns of its values.
struct Scan {
  int b, h, part;
};

// visit(scan) for each of the block's.
template <typename Visit>
__device__ __forceinline__ void visit_scans(const Params& p, const Visit& visit) {
  const int scans = p.batch * kHeadsQ * kScanParts;
#pragma unroll 1
  for (int i = blockIdx.x; i < scans; i += gridDim.x) {
    const int plane = i / kScanParts;
    visit(Scan{plane / kHeadsQ, plane % kHeadsQ, i % kScanParts});
  }
}

// The first row of a scan, which stands for its head.
__device__ __forceinline__ Row first_row_of(const Scan& scan, const Params& p) {
  Row row = row_at(scan.b, scan.h, 0, p);
#if ATTN_ROW_CONSTANTS
  set_constants(row, p.inputs);
#endif
  return row;
}

// The warp that loads; one lane calls.
__device__ __forceinline__ void load_scans(ScanShared& shared, const TensorMaps& maps,
                                           const Params& p) {
  RingSlot<kScanSlots> slot;
  RingSlot<kScanTurns> turn;
  visit_scans(p, [&](const Scan& scan) {
    const int h_kv = scan.h / kGroup;
#pragma unroll 1
    for (int row = 0; row < p.seq_q; row += kScanRows) {
      barrier_wait(shared.pair_empty[slot.index], slot.parity ^ 1);
      uint64_t& pair_full = shared.pair_full[turn.index];
      barrier_expect(pair_full, kKeyBytes + kScanValueBytes);
      load_rows<kChunksQk, kChunkQk>(maps.k, pair_full, shared.key[slot.index], kScanRows, row,
                                     h_kv, scan.b, kEvictNormal);
      tma_load(maps.v, pair_full, shared.value[slot.index], 64 * scan.part, row, h_kv, scan.b,
               kEvictNormal);
      barrier_wait(shared.query_empty[slot.index], slot.parity ^ 1);
      uint64_t& query_full = shared.query_full[turn.index];
      barrier_expect(query_full, kKeyBytes);
      load_rows<kChunksQk, kChunkQk>(maps.q, query_full, shared.query[slot.index], kScanRows, row,
                                     scan.h, scan.b, kEvictNormal);
      slot.advance();
      turn.advance();
    }
  });
}

// The warp that stores; one lane calls.
__device__ __forceinline__ void store_scans(ScanShared& shared, const TensorMaps& maps,
                                            const Params& p) {
  RingSlot<2> warpgroup;  // they have chunks in turn
  visit_scans(p, [&](const Scan& scan) {
#pragma unroll 1
    for (int row = 0; row < p.seq_q; row += kScanRows) {
      barrier_wait(shared.output_full[warpgroup.index], warpgroup.parity);
      tma_store(maps.o, shared.output[warpgroup.index], 64 * scan.part, row, scan.h, scan.b);
      tma_store_wait();
      barrier_arrive(shared.output_empty[warpgroup.index]);
      warpgroup.advance();
    }
  });
}
