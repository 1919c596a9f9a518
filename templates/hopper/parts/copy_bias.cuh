// The bias tile where TMA cannot bring it: rows that do not begin at multiples of 16 bytes.
#pragma once

// Each warp copies the 16 rows that it reads.
__device__ __forceinline__ void copy_biases(uint8_t* tile, int q_first, int kv_first,
                                            const Row& row, const Params& p) {
  const int first = threadIdx.x / 32 % 4 * 16;
  const int64_t rows = int64_t{bias_matrix(row, p.inputs)} * p.seq_q;
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const auto* const from =
        bias_data(p.inputs) + (rows + min(q_first + first + i, p.seq_q - 1)) * p.seq_kv;
#pragma unroll
    for (int j = 0; j < (kTileKv + 31) / 32; ++j) {
      const int column = 32 * j + threadIdx.x % 32;
      if (column >= kTileKv) break;
      constexpr int kOfGroup = 16 / kBiasBytes;
      uint8_t* const to = tile + swizzled<kChunkBias>(64, first + i, column / kOfGroup) +
                          column % kOfGroup * kBiasBytes;
      *reinterpret_cast<BiasElement*>(to) = __ldg(from + min(kv_first + column, p.seq_kv - 1));
    }
  }
  __syncwarp();
}
