// What the test kernels need of HIP, without its headers.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

using half4 = _Float16 __attribute__((ext_vector_type(4)));
using short2 = short __attribute__((ext_vector_type(2)));
using short4 = short __attribute__((ext_vector_type(4)));
using short8 = short __attribute__((ext_vector_type(8)));
using float16 = float __attribute__((ext_vector_type(16)));
using float4 = float __attribute__((ext_vector_type(4)));
using int4 = int __attribute__((ext_vector_type(4)));

// A barrier that also waits for this wave's own LDS accesses.
__device__ inline void synchronize() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
