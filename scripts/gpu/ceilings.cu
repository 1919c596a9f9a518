// For scripts/bench_ceilings.py: how fast bulk copies bring blocks of keys and values from the L2
// into shared memory, with no arithmetic and nobody to wait for.
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int kPieceBytes = 16384;  // 64 keys or values of head dim 128 in 16 bits
constexpr int kSlots = 12;          // on their way: 192 KB of a core's 227

struct __align__(1024) Shared {
  uint8_t piece[kSlots][kPieceBytes];
  uint64_t full[kSlots];
};

__device__ uint32_t address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ void copy(Shared& shared, int slot, const uint8_t* from) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&shared.full[slot])),
      "r"(kPieceBytes)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(address(shared.piece[slot])),
      "l"(from), "r"(kPieceBytes), "r"(address(&shared.full[slot]))
      : "memory");
}

__device__ void wait(Shared& shared, int slot, uint32_t parity) {
  uint32_t done = 0;
  while (!done) {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
        "p;}"
        : "=r"(done)
        : "r"(address(&shared.full[slot])), "r"(parity)
        : "memory");
  }
}

// Each block takes pieces anywhere among `pieces`, as a xorshift draws them.
__global__ void copy_pieces(const uint8_t* from, uint32_t pieces, int count) {
  extern __shared__ __align__(1024) uint8_t memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  for (int slot = 0; slot < kSlots; ++slot) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&shared.full[slot])));
  }
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  uint32_t random = blockIdx.x * 2654435761u + 1;
  for (int i = 0; i < count + kSlots; ++i) {
    const int slot = i % kSlots, round = i / kSlots;
    if (round > 0) wait(shared, slot, (round - 1) % 2);
    if (i >= count) continue;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    copy(shared, slot, from + int64_t{random % pieces} * kPieceBytes);
  }
}

}  // namespace

extern "C" {

int piece_bytes() { return kPieceBytes; }

// `count` pieces for each of `blocks` cores, of `bytes` at `from`; returns a cudaError_t.
int copy_from_l2(const void* from, int64_t bytes, int blocks, int count, void* stream) {
  if (count < kSlots) return cudaErrorInvalidValue;
  const cudaError_t error = cudaFuncSetAttribute(
      copy_pieces, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  if (error != cudaSuccess) return error;
  copy_pieces<<<blocks, 1, sizeof(Shared), static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint8_t*>(from), static_cast<uint32_t>(bytes / kPieceBytes), count);
  return cudaGetLastError();
}

}  // extern "C"
