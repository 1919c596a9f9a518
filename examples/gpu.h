// What the examples ask of the vendor's runtime. A build for AMD defines __HIP_PLATFORM_AMD__, as
// HIP's header demands.
#pragma once

#ifdef __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#else
#include <cuda_runtime.h>
#endif

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpu {

#ifdef __HIP_PLATFORM_AMD__
constexpr const char* kWanted = "AMD GPU of gfx90a";
inline bool found() {
  hipDeviceProp_t device;
  return hipGetDeviceProperties(&device, 0) == hipSuccess &&
         std::strncmp(device.gcnArchName, "gfx90a", 6) == 0;
}
inline bool allocate(void** memory, size_t bytes) { return hipMalloc(memory, bytes) == hipSuccess; }
inline bool clear(void* memory, size_t bytes) { return hipMemset(memory, 0, bytes) == hipSuccess; }
inline bool copy(void* to, const void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDefault) == hipSuccess;
}
#else
constexpr const char* kWanted = "NVIDIA Hopper GPU";
inline bool found() {
  cudaDeviceProp device;
  return cudaGetDeviceProperties(&device, 0) == cudaSuccess && device.major == 9;
}
inline bool allocate(void** memory, size_t bytes) {
  return cudaMalloc(memory, bytes) == cudaSuccess;
}
inline bool clear(void* memory, size_t bytes) {
  return cudaMemset(memory, 0, bytes) == cudaSuccess;
}
inline bool copy(void* to, const void* from, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess;
}
#endif

// Ends the program if it fails. One process, one call: nothing is freed.
inline void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}
inline void* zeros(size_t bytes) {
  void* memory = nullptr;
  check(bytes == 0 || (allocate(&memory, bytes) && clear(memory, bytes)), "allocation");
  return memory;
}
// To or from the GPU.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  check(copy(to, from, bytes), "copy");
}

}  // namespace gpu
