// What the kernel is compiled for: its instructions are Hopper's alone.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "compile for sm_90a, whose features sm_90 lacks: -gencode arch=compute_90a,code=sm_90a"
#endif
// Of several architectures the others get kernels that do nothing, and that nothing launches.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
constexpr bool kIsHopper = false;
constexpr int kArchitectures[] = {__CUDA_ARCH_LIST__};
constexpr bool is_one_hopper() {
  for (const int architecture : kArchitectures) {
    if (architecture == 900) return true;
  }
  return false;
}
static_assert(is_one_hopper(), "compile for sm_90a: -gencode arch=compute_90a,code=sm_90a");
#else
constexpr bool kIsHopper = true;
#endif
