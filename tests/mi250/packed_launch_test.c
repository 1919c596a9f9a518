/* Where heads are packed, a grid has the tiles of a key head's group, each of which takes a row for
   a query and head. */
#include "gqa_few_rows.h"
#include "runtime.h"

enum { kBatch = 3, kGroup = 8, kHeadsKv = 8 };

static gqa_few_rows_forward_args args_of(int64_t seq_q) {
  static char memory[64];
  gqa_few_rows_forward_args args = {0};
  args.size = sizeof(args);
  args.batch = kBatch;
  args.seq_q = seq_q;
  args.seq_kv = 1000;
  args.heads_q = kGroup * kHeadsKv;
  args.heads_kv = kHeadsKv;
  args.q = args.k = args.v = args.o = memory + (16 - (uintptr_t)memory % 16) % 16;
  return args;
}

static void check_grid(int64_t seq_q) {
  const gqa_few_rows_forward_args args = args_of(seq_q);
  expect("a call", gqa_few_rows_forward(&args, NULL, NULL), GQA_FEW_ROWS_OK);
  const long rows = threads_of_block / 2; /* 32 of a wave of 64 threads */
  const long tiles = (long)(seq_q * kGroup + rows - 1) / rows;
  expect("seq_q", numbers[1], (long)seq_q);
  expect("tiles of a group", numbers[3], tiles);
  expect("blocks", blocks_of_grid, kBatch * kHeadsKv * tiles);
}

/* As many blocks as have less than 2^32 threads meet the next check, of a pointer; more do not. */
static void check_most_threads(void) {
  gqa_few_rows_forward_args args = args_of(1);
  args.q = NULL;
  args.batch = UINT32_MAX / threads_of_block / kHeadsKv;
  expect("most threads", gqa_few_rows_forward(&args, NULL, NULL), GQA_FEW_ROWS_NULL_POINTER);
  ++args.batch;
  expect("too many threads", gqa_few_rows_forward(&args, NULL, NULL), GQA_FEW_ROWS_BAD_LENGTH);
}

int main(void) {
  check_grid(1);
  check_grid(16);
  check_grid(17);
  check_most_threads();
  return failures != 0;
}
