// The part of the CUDA runtime and driver that emitted kernels call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace emulator {

struct Map {
  uint8_t* data = nullptr;
  int64_t dims[4] = {}, strides[4] = {};  // bytes
  int box[4] = {}, steps[4] = {};         // elements of a box, and from one to the next
  int span = 128;
};

}  // namespace emulator

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
enum { cudaEnableDefault, cudaDevAttrComputeCapabilityMajor, cudaDevAttrMultiProcessorCount };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
using cudaStream_t = void*;
enum CUresult { CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_CONTEXT };
using CUtensorMap = emulator::Map;
using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16 };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_64B };
enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
};

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, uint32_t rank, void* data,
                                const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps, int,
                                CUtensorMapSwizzle swizzle, int, int);
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, int, int,
                                             cudaDriverEntryPointQueryResult* found);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int);
cudaError_t set_attribute();
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, int, size_t) {
  return set_attribute();
}
enum { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute {
  int id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct dim3 {
  explicit dim3(int count) : x(count) {}
  int x;
};
struct cudaLaunchConfig_t {
  dim3 blocks, threads;
  size_t shared_bytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attributes;
  unsigned attribute_count;
};
void wait_for_stream();
void call_next_kernel();

// One launch, and whether its threads wait as they must for the one before.
cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const std::function<void()>& kernel);
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               const Arguments&... arguments) {
  return launch_kernel(*config, [=] { kernel(arguments...); });
}
