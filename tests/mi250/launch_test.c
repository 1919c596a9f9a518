/* The launch's own result is what counts, not an error that the caller's thread has left; and no
   launch has too many threads. */
#include "runtime.h"
#include "vit_s16.h"

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
