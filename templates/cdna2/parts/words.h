// Vectors of 32-bit words, and the instructions that move them between registers and buffers. They
// are LLVM's own names: not every compiler of ROCm 5 has a builtin for them.
#pragma once

typedef uint32_t Words2 __attribute__((ext_vector_type(2)));
typedef uint32_t Words4 __attribute__((ext_vector_type(4)));
typedef int32_t Resource __attribute__((ext_vector_type(4)));

#if ATTN_PAGE_SIZE
__device__ int32_t buffer_load_4(Resource, int offset, int,
                                 int) __asm("llvm.amdgcn.raw.buffer.load.i32");
#endif
#if !ATTN_PAGE_ROWS || !ATTN_PACKED_HEADS
__device__ Words2 buffer_load_8(Resource, int offset, int,
                                int) __asm("llvm.amdgcn.raw.buffer.load.v2i32");
__device__ Words4 buffer_load_16(Resource, int offset, int,
                                 int) __asm("llvm.amdgcn.raw.buffer.load.v4i32");
#endif
#if !ATTN_PACKED_HEADS
__device__ void buffer_store_8(Words2, Resource, int offset, int,
                               int) __asm("llvm.amdgcn.raw.buffer.store.v2i32");
#endif
