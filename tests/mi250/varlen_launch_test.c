/* Of packed sequences a grid has as many tiles of each head as those of any lengths may have. */
#include "runtime.h"
#include "varlen.h"

enum { kBatch = 3, kHeadsQ = 32, kHeadsKv = 8 };

static varlen_forward_args args_of(int64_t total_q) {
  static char memory[64];
  static const int32_t offsets[kBatch + 1] = {0};
  varlen_forward_args args = {0};
  args.size = sizeof(args);
  args.batch = kBatch;
  args.total_q = total_q;
  args.total_kv = 1000;
  args.cu_seqlens_q = args.cu_seqlens_kv = offsets;
  args.heads_q = kHeadsQ;
  args.heads_kv = kHeadsKv;
  args.q = args.k = args.v = args.o = memory + (16 - (uintptr_t)memory % 16) % 16;
  return args;
}

static void check_grid(int64_t total_q) {
  const varlen_forward_args args = args_of(total_q);
  expect("a call", varlen_forward(&args, NULL, NULL), VARLEN_OK);
  const long rows = threads_of_block / 2; /* 32 of a wave of 64 threads */
  expect("blocks", blocks_of_grid, kHeadsQ * ((long)total_q / rows + kBatch));
}

static void check_refusals(void) {
  varlen_forward_args args = args_of(5);
  args.cu_seqlens_kv = NULL;
  expect("no offsets", varlen_forward(&args, NULL, NULL), VARLEN_NULL_POINTER);
  args = args_of(5);
  args.cu_seqlens_q = (const int32_t*)((const char*)args.cu_seqlens_q + 2);
  expect("misaligned offsets", varlen_forward(&args, NULL, NULL), VARLEN_MISALIGNED);
  args = args_of(-1);
  expect("a negative length", varlen_forward(&args, NULL, NULL), VARLEN_BAD_LENGTH);
  args = args_of(0);
  args.q = NULL;
  expect("no query", varlen_forward(&args, NULL, NULL), VARLEN_OK);
}

/* As many blocks as have less than 2^32 threads meet the next check, of a pointer; more do not. */
static void check_most_threads(void) {
  varlen_forward_args args = args_of(1);
  args.q = NULL;
  args.batch = UINT32_MAX / threads_of_block / kHeadsQ;
  expect("most threads", varlen_forward(&args, NULL, NULL), VARLEN_NULL_POINTER);
  ++args.batch;
  expect("too many threads", varlen_forward(&args, NULL, NULL), VARLEN_BAD_LENGTH);
}

int main(void) {
  check_grid(1);
  check_grid(1000);
  check_refusals();
  check_most_threads();
  return failures != 0;
}
