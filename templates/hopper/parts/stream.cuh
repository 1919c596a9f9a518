// How kernels follow one another in a stream (programmatic dependent launch): one may be on its way
// to the cores while the one before it ends, as long as it waits before it touches memory: for that
// one's end, or for what it writes.
#pragma once

// Until the kernels before have ended, and what they wrote is there.
__device__ __forceinline__ void wait_for_stream() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

#if ATTN_PREPARES
// The next kernel may come to the cores. It waits there for this one.
__device__ __forceinline__ void call_next_kernel() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif

// Launches a kernel that waits by itself for those before it (wait_for_stream).
template <typename... Parameters, typename... Arguments>
bool launch(void (*kernel)(Parameters...), int blocks, int threads, size_t shared_bytes,
            cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config{dim3(blocks), dim3(threads), shared_bytes, stream, &early, 1};
  return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}
