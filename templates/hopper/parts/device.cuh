// The device that a call runs on.
#pragma once

struct Device {
  int cores;
  EncodeTiled encoder;
};

// The current one, if the kernel can run on it, and the kernel set up there: the encoder asks for a
// context, which a thread has none of before its first call of this kind.
#if ATTN_BIAS
template <typename Kernel>
attention_status find_device(Device& device, Kernel* kernel) {
#else
attention_status find_device(Device& device) {
#endif
  // Asked for again if it was not there: a call may come before the driver can answer.
  static thread_local EncodeTiled encoder = nullptr;
  if (!encoder) encoder = find_encoder();
  device.encoder = encoder;
  int index = 0, major = 0;
  if (cudaGetDevice(&index) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) != cudaSuccess ||
      cudaDeviceGetAttribute(&device.cores, cudaDevAttrMultiProcessorCount, index) != cudaSuccess ||
      major != 9 || !encoder) {
    return ATTENTION_BAD_DEVICE;
  }
#if ATTN_BIAS
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)) !=
      cudaSuccess) {
#else
  if (cudaFuncSetAttribute(attention_forward_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           sizeof(Shared)) != cudaSuccess) {
#endif
    return ATTENTION_LAUNCH_FAILED;
  }
  return ATTENTION_OK;
}
