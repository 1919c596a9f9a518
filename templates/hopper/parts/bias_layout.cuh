// How biases lie in shared memory: a kernel for each, whose loop has one way to read them.
#pragma once

enum class BiasLayout {
#if !ATTN_BIAS_SHIFTED
  kSwizzled,  // as TMA brings them
  kPairs,     // as in memory, where those of two keys begin at a multiple of their size
#endif
  kElements,  // as in memory
};

// Whether warps of the producer bring them.
__host__ __device__ constexpr bool copies_biases(BiasLayout layout) {
#if ATTN_BIAS_SHIFTED
  return layout == BiasLayout::kElements;  // TMA takes no such rows
#else
  return layout != BiasLayout::kSwizzled;
#endif
}
