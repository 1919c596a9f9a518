// A scan's warps, each at its work.
#pragma once

// Wide heads' states fill a warpgroup's registers.
constexpr int kScanStateRegisters = kHeadDimQk > 128 ? 208 : 160;
constexpr int kScanQueryRegisters = kHeadDimQk > 128 ? 128 : 160;

__global__ void __launch_bounds__(kScanThreads, 1)
    attention_forward_scan(const __grid_constant__ TensorMaps maps,
                           const __grid_constant__ Params p) {
  if (!kIsHopper) return;
  extern __shared__ __align__(1024) uint8_t memory[];
  ScanShared& shared = *reinterpret_cast<ScanShared*>(memory);
  if (threadIdx.x == 0) init_barriers(shared);
  __syncthreads();
  wait_for_stream();
  const int warpgroup = uniform(threadIdx.x / 128);
  if (warpgroup == 0) {
    claim_registers<kScanStateRegisters>();
    ScanStates states{shared, p, kept(column_descriptor<64>(shared.key[0]))};
    visit_scans(p, [&](const Scan& scan) { states.visit(scan); });
  } else if (warpgroup < 3) {
    claim_registers<kScanQueryRegisters>();
    ScanQueries queries{shared,
                        p,
                        warpgroup - 1,
                        kept(row_descriptor<64>(shared.key[0])),
                        kept(column_descriptor<64>(shared.value[0])),
                        row_descriptor<64>(shared.state[0][0])};
    visit_scans(p, [&](const Scan& scan) { queries.visit(scan); });
  } else {
    release_registers<32>();
    const int warp = threadIdx.x / 32 % 4;
    if (threadIdx.x % 32 != 0) return;
    if (warp == 0) load_scans(shared, maps, p);
    if (warp == 1) store_scans(shared, maps, p);
  }
}
