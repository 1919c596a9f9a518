// In the place of CUDA's functions, where clang's are slow or mean something else: it rounds
// __fdividef correctly, in ten instructions, while the reciprocal is within 1 ulp; to it __ldg is
// an ordinary load, which no loop can shed across a barrier, and __fadd_rn an ordinary sum, which
// takes a product in as a multiply-add.
#pragma once

__device__ __forceinline__ float divide_approx(float x, float y) {
  return x * __builtin_amdgcn_rcpf(y);
}

// The sum rounded by itself, whatever its terms are.
__device__ __forceinline__ float add_apart(float x, float y) {
#pragma clang fp contract(off)
  return x + y;
}

__device__ __forceinline__ float subtract_apart(float x, float y) {
#pragma clang fp contract(off)
  return x - y;
}

// Memory that nobody writes while the kernel runs. A byte comes as an int, as min and max want it.
template <typename T>
__device__ __forceinline__ auto read_only(const T* pointer) {
  return +*(const __attribute__((address_space(4))) T*)(pointer);
}
