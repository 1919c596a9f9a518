/* The launch's own result is what counts, not an error that the caller's thread has left; and no
   launch has too many threads. Takes the runtime's place: runs without a card and without
   libamdhip64. */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "vit_s16.h"

static hipError_t last = hipSuccess, of_launch = hipSuccess;
static int launches = 0;
static unsigned threads_of_block = 0;

hipError_t hipGetLastError(void) {
  const hipError_t error = last;
  last = hipSuccess;
  return error;
}
hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  (void)device;
  memset(properties, 0, sizeof(*properties));
  strcpy(properties->gcnArchName, "gfx90a:sramecc+:xnack-");
  return hipSuccess;
}
hipError_t hipLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                           size_t shared_bytes, hipStream_t stream) {
  (void)kernel, (void)shared_bytes, (void)stream;
  threads_of_block = threads.x;
  launches += blocks.x > 0 && arguments[0];
  if (of_launch != hipSuccess) last = of_launch;
  return of_launch;
}

/* What clang writes beside a kernel calls these. */
const char __hip_fatbin = 0;
void** __hipRegisterFatBinary(const void* binary) {
  static void* handle;
  (void)binary;
  return &handle;
}
void __hipUnregisterFatBinary(void** handle) { (void)handle; }
void __hipRegisterFunction(void) {}
hipError_t __hipPushCallConfiguration(dim3 blocks, dim3 threads, size_t bytes, hipStream_t stream) {
  (void)blocks, (void)threads, (void)bytes, (void)stream;
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* blocks, dim3* threads, size_t* bytes,
                                     hipStream_t* stream) {
  blocks->x = threads->x = 1;
  *bytes = 0;
  *stream = NULL;
  return hipSuccess;
}

static int failures = 0;

static void expect(const char* what, int got, int wanted) {
  if (got == wanted) return;
  printf("%s: %d instead of %d\n", what, got, wanted);
  ++failures;
}

/* As many blocks as have less than 2^32 threads meet the next check, of a pointer; more do not. */
static void check_most_threads(vit_s16_forward_args args) {
  args.q = NULL;
  args.seq_q = 1;
  args.batch = UINT32_MAX / threads_of_block / args.heads_q;
  expect("most threads", vit_s16_forward(&args, NULL, NULL), VIT_S16_NULL_POINTER);
  ++args.batch;
  expect("too many threads", vit_s16_forward(&args, NULL, NULL), VIT_S16_BAD_LENGTH);
}

int main(void) {
  static char memory[64];
  vit_s16_forward_args args = {0};
  args.size = sizeof(args);
  args.batch = 1;
  args.seq_q = args.seq_kv = 197;
  args.heads_q = args.heads_kv = 6;
  args.q = args.k = args.v = args.o = memory + (16 - (uintptr_t)memory % 16) % 16;
  last = hipErrorOutOfMemory;
  expect("beside an old error", vit_s16_forward(&args, NULL, NULL), VIT_S16_OK);
  expect("launches", launches, 1);
  expect("the old error", hipGetLastError(), hipErrorOutOfMemory);
  of_launch = hipErrorInvalidValue;
  expect("a launch that fails", vit_s16_forward(&args, NULL, NULL), VIT_S16_LAUNCH_FAILED);
  check_most_threads(args);
  return failures != 0;
}
