/* Takes the runtime's place: launches run without a card and without libamdhip64. For one program's
   one test. */
#ifndef ATTNGEN_TESTS_MI250_RUNTIME_H
#define ATTNGEN_TESTS_MI250_RUNTIME_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static hipError_t last = hipSuccess, of_launch = hipSuccess;
static int launches = 0;
/* Of the last launch; of its argument batch, seq_q, seq_kv and the tiles of a head. */
static unsigned blocks_of_grid = 0, threads_of_block = 0;
static int32_t numbers[4];
/* And as many of its words as a test asks for. */
#ifndef ARGUMENT_WORDS
#define ARGUMENT_WORDS 4
#endif
static int64_t words[ARGUMENT_WORDS];

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
  blocks_of_grid = blocks.x;
  threads_of_block = threads.x;
  /* Behind four pointers and twelve strides. */
  memcpy(numbers, (const char*)arguments[0] + 16 * sizeof(int64_t), sizeof(numbers));
  memcpy(words, arguments[0], sizeof(words));
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

static void expect(const char* what, long got, long wanted) {
  if (got == wanted) return;
  printf("%s: %ld instead of %ld\n", what, got, wanted);
  ++failures;
}

#endif
