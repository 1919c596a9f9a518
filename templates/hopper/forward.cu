// Attention forward for NVIDIA Hopper (sm_90a).
//
#if ATTN_TOKENS && ATTN_SHARE_KV
// One producer warp loads queries by TMA, two gather keys, whose first columns are the values.
#elif ATTN_TOKENS
// One producer warp loads queries by TMA, two gather keys and values. Each consumer warpgroup holds
#elif ATTN_SHARE_KV
// One producer warp keeps a ring of keys, whose first columns are the values, full by TMA.
#elif ATTN_VALUES_APART
// One producer warp keeps a ring of key tiles full by TMA, another one of values. A consumer holds
#else
// One producer warp keeps rings of key and value tiles full by TMA. Each consumer warpgroup holds
#endif
#if ATTN_SIDES > 1
// A consumer warpgroup holds 64 query rows and a side of their output's columns: S = Q K^T by wgmma
// into registers, of every second block, weights in place, for both sides, O += P V by wgmma, block
#elif ATTN_SHARE_KV
// A consumer warpgroup holds 64 query rows: S = Q K^T by wgmma into registers, weights in place,
// O += P V by wgmma, block
#else
// 64 query rows: S = Q K^T by wgmma into registers, weights in place, O += P V by wgmma, block
#endif
#if ATTN_SCOUT
// after block. A storer warp brings its output out. A scout warp finds tiles, and their blocks of
// keys, ahead of the producer.
#else
// after block. A storer warp brings its output out.
#endif
#if ATTN_TOKENS
//
// A tile has the heads of one query, and the keys of its list.
#endif
#if ATTN_SCAN
//
// Calls with heads enough for the cores go by another kernel instead, a scan along each head.
#endif
#if ATTN_SPLIT_KEYS
//
// Of a call of few tiles, thread blocks share out the keys of each. A second kernel joins what they
// leave.
#endif
#include <cuda.h>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "parts/defaults.cuh"
#if ATTN_COUNTER || ATTN_SPLIT_KEYS
#include <atomic>
#endif

namespace {

#include "parts/architecture.cuh"
#include "parts/config.cuh"
#include "parts/barrier.cuh"
#include "parts/tma.cuh"
#include "parts/stream.cuh"
#include "parts/wgmma.cuh"
#include "parts/wgmma_n.cuh"
#include "parts/fragment.cuh"
#include "parts/helpers.cuh"
#if ATTN_BIAS || ATTN_TABLE_BYTES || ATTN_ROW_BY_ROW
#include "parts/async_copy.cuh"
#endif
#if ATTN_BIAS
#include "parts/bias_layout.cuh"
#include "parts/pitched_bias.cuh"
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
#include "parts/bias.cuh"
#endif
#if ATTN_MASK_BITS
#include "parts/mask_bits.cuh"
#endif
#if ATTN_STRIPS
#include "parts/strips.cuh"
#endif
#if ATTN_DIVIDES_KEYS
#include "parts/divided_keys.cuh"
#endif
#if ATTN_TABLE_BYTES
#include "parts/tables.cuh"
#endif
#include "parts/user.cuh"
#if ATTN_MASK_AHEAD
#include "parts/mask_ahead.cuh"
#endif
#if ATTN_EXPONENTIAL
#include "parts/softmax.cuh"
#endif
#if ATTN_RECOMPUTE
#include "parts/recompute.cuh"
#endif
#if ATTN_COUNTER || ATTN_EARLY_JOINS
#include "parts/call.cuh"
#endif
#if ATTN_COUNTER
#include "parts/counter.cuh"
#endif
#if ATTN_SPLIT_KEYS
#include "parts/split.cuh"
#endif
#include "parts/tile.cuh"
#if ATTN_BIAS_SHIFTED
#include "parts/shifted_bias.cuh"
#elif ATTN_BIAS
#include "parts/bias_rows.cuh"
#endif
#if ATTN_VARLEN
#include "parts/packed.cuh"
#include "parts/sums.cuh"
#if ATTN_SPLIT_KEYS
#include "parts/packed_splits.cuh"
#endif
#include "parts/sort.cuh"
#endif
#if ATTN_WALK
#include "parts/visit.cuh"
#endif
#if ATTN_SPARSE
#include "parts/sparse.cuh"
#elif ATTN_WALK
#include "parts/walk.cuh"
#endif
#if ATTN_LISTS_AS_MASK
#include "parts/listed_prepass.cuh"
#elif ATTN_MASK_BITS && !ATTN_TOKENS
#include "parts/pair_prepass.cuh"
#elif ATTN_ID_TABLES
#include "parts/prepass.cuh"
#endif
#if ATTN_SCOUT
#include "parts/find.cuh"
#endif
#include "parts/shared.cuh"
#if ATTN_FAR
#include "parts/chunks.cuh"
#endif
#if ATTN_RANKED
#include "parts/ranks.cuh"
#endif
#if ATTN_TILES_COUNTED
#include "parts/claim.cuh"
#endif
#if ATTN_SCOUT
#include "parts/scout.cuh"
#endif
#if ATTN_PAGE_SIZE
#include "parts/page_table.cuh"
#endif
#if ATTN_ROW_BY_ROW
#include "parts/row_copies.cuh"
#endif
#if ATTN_PAGE_ROWS
#include "parts/page_rows.cuh"
#elif ATTN_PAGE_SIZE && !ATTN_TOKENS
#include "parts/pages.cuh"
#endif
#include "parts/producer.cuh"
#include "parts/loads.cuh"
#if ATTN_VALUES_APART
#include "parts/page_values.cuh"
#endif
#if ATTN_BIAS
#include "parts/copy_bias.cuh"
#endif
#if ATTN_FAR
#include "parts/far_loads.cuh"
#endif
#include "parts/storer.cuh"
#include "parts/weigh.cuh"
#if ATTN_FAR
#include "parts/slices.cuh"
#if ATTN_KEY_SUMS
#include "parts/key_sums.cuh"
#endif
#include "parts/states.cuh"
#endif
#if !ATTN_WALK
#include "parts/work.cuh"
#endif
#if ATTN_TOKENS
#include "parts/lists.cuh"
#endif
#include "parts/consumer.cuh"
#include "parts/rows.cuh"
#include "parts/steps.cuh"
#include "parts/blocks.cuh"
#if ATTN_SIDES > 1
#include "parts/sides.cuh"
#endif
#if ATTN_FAR
#include "parts/far.cuh"
#endif
#if ATTN_MAPS > 1
#include "parts/maps.cuh"
#endif
#if ATTN_COLUMN_INPUTS
#include "parts/columns.cuh"
#endif
#include "parts/finish.cuh"
#if ATTN_SPLIT_KEYS
#include "parts/join.cuh"
#endif

template <int kRegisters>
__device__ __forceinline__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
#if ATTN_SCAN
#include "parts/scan.cuh"
#include "parts/scan_states.cuh"
#include "parts/scan_queries.cuh"
#include "parts/scan_kernel.cuh"
#endif

#if ATTN_BIAS
template <BiasLayout kBiasLayout>
#endif
__global__ void __launch_bounds__(kThreads, kBlocksPerCore)
    attention_forward_kernel(const __grid_constant__ TensorMaps maps,
                             const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  extern __shared__ __align__(1024) uint8_t memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
#if ATTN_BIAS
  if (threadIdx.x == 0) init_barriers(shared, kBiasLayout);
#else
  if (threadIdx.x == 0) init_barriers(shared);
#endif
  if (threadIdx.x == 128 * kWarpgroups) {  // of the producer, meanwhile
    prefetch_map(maps.q);
#if !ATTN_VARLEN
    prefetch_queries(maps.q, tile_at(blockIdx.x, p));
#endif
#if !ATTN_ROW_BY_ROW
    prefetch_map(maps.k);
#if !ATTN_SHARE_KV
    prefetch_map(maps.v);
#endif
#endif
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
    prefetch_map(maps.bias);
#endif
#if !ATTN_PADDED_HEADS
    prefetch_map(maps.o);
#endif
  }
  __syncthreads();
#if ATTN_FAR
  // The kernel of states has waited for those before it, and then called this one. For its end the
  // producer waits.
  if (p.chunks == 0) wait_for_stream();
#else
  wait_for_stream();
#endif

#if ATTN_SPLIT_KEYS
  if (joins_splits(p)) call_next_kernel();  // it waits for the parts, or for this one's end
#endif

  const int warpgroup = uniform(threadIdx.x / 128);
  if (warpgroup == kWarpgroups) {
    release_registers<ATTN_PRODUCER_REGISTERS>();
    const int warp = uniform(threadIdx.x / 32) - 4 * kWarpgroups;
#if ATTN_BIAS
    if (warp == 0) Producer{shared, maps, p, kBiasLayout}.run();
#else
    if (warp == 0) Producer{shared, maps, p}.run();
#endif
#if ATTN_VARLEN || ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS
    if (warp == 1) store(shared, maps.o, p);
#else
    if (warp == 1) store(shared, maps.o);
#endif
#if ATTN_COUNTER
    if (warp == 2) open_counter(shared, p);
#endif
#if ATTN_TOKENS && ATTN_SHARE_KV
    if (warp == 2) gather_keys<0>(shared, p);
    if (warp == 3) gather_keys<1>(shared, p);
#elif ATTN_TOKENS
    if (warp == 2) gather_keys(shared, p);
    if (warp == 3) gather_values(shared, p);
#endif
#if ATTN_RANKED
    if (warp == 2) rank_tiles(shared, p);
#endif
#if ATTN_VALUES_APART && ATTN_PAGE_ROWS && ATTN_SCOUT
    if (warp == 2) PageValues{shared, p}.run();
#elif ATTN_VALUES_APART && ATTN_PAGE_ROWS
    if (warp == 3) PageValues{shared, p}.run();
#elif ATTN_VALUES_APART && ATTN_SCOUT
    if (warp == 2) PageValues{shared, maps, p}.run();
#elif ATTN_VALUES_APART
    if (warp == 3) PageValues{shared, maps, p}.run();
#endif
#if ATTN_BIAS
    if (copies_biases(kBiasLayout)) {
      if (warp == 2) BiasCopier{shared, p, 0}.run();
#if !ATTN_SCOUT
      if (warp == 3) BiasCopier{shared, p, 1}.run();
#endif
    }
#endif
#if ATTN_SCOUT
    if (warp == 3) Scout{shared, p}.run();
#endif
  } else {
    claim_registers<ATTN_CONSUMER_REGISTERS>();
#if ATTN_BIAS
    Consumer consumer(shared, warpgroup, p);
    consumer.bias_layout = kBiasLayout;
    consumer.run();
#else
    Consumer(shared, warpgroup, p).run();
#endif
  }
}
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED

auto* forward_kernel_of(BiasLayout layout) {
  if (layout == BiasLayout::kSwizzled) return attention_forward_kernel<BiasLayout::kSwizzled>;
  if (layout == BiasLayout::kPairs) return attention_forward_kernel<BiasLayout::kPairs>;
  return attention_forward_kernel<BiasLayout::kElements>;
}
#endif

}  // namespace

#include "parts/api.cuh"

namespace {

#include "parts/tensor_map.cuh"
#include "parts/arguments.cuh"
#include "parts/tensors.cuh"
#include "parts/device.cuh"
#if ATTN_VARLEN
#include "parts/prepare.cuh"
#elif ATTN_LONGEST_FIRST || ATTN_ID_TABLES || ATTN_FAR || ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS
#include "parts/prepare.cuh"
#endif

}  // namespace

#include "parts/launch.cuh"
