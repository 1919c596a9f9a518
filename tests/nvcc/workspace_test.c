/* The workspace of a kernel that tabulates ids: its bytes, and which is refused. Needs no GPU. */
#include <stdio.h>

#include "unsorted_documents.h"

typedef unsorted_documents_forward_args Args;
static int failures = 0;

static void expect(const char* what, long long got, long long wanted) {
  if (got == wanted) return;
  printf("%s: %lld instead of %lld\n", what, got, wanted);
  ++failures;
}

static Args good_args(void) {
  static int memory[64];
  void* const pointer = (char*)memory + (16 - (uintptr_t)memory % 16) % 16;
  Args args = {0};
  args.size = sizeof(args);
  args.batch = 2;
  args.seq_q = 1000;
  args.seq_kv = 8192;
  args.heads_q = 32;
  args.heads_kv = 8;
  args.q = args.k = args.v = args.o = pointer;
  args.doc = pointer;
  return args;
}

static long long bytes_of(int64_t batch, int64_t seq_q, int64_t seq_kv) {
  Args args = good_args();
  args.batch = batch;
  args.seq_q = seq_q;
  args.seq_kv = seq_kv;
  return (long long)unsorted_documents_forward_workspace(&args);
}

/* One stride is wrong: what is found when all else will do. */
static unsorted_documents_status call(void* workspace, int doc_offset) {
  Args args = good_args();
  args.doc = (const int32_t*)((const char*)args.doc + doc_offset);
  args.q_stride_seq = 1;
  return unsorted_documents_forward(&args, workspace, NULL);
}

int main(void) {
  /* Without tables: the counter of tiles. */
  const long long counter = bytes_of(2, 1000, 0);
  const long long one = bytes_of(1, 1000, 8192) - counter;
  static char memory[64];
  char* const aligned = memory + (16 - (uintptr_t)memory % 16) % 16;
  expect("counter", counter, sizeof(unsigned));
  expect("no arguments", (long long)unsorted_documents_forward_workspace(NULL), counter);
  expect("negative", bytes_of(-1, 1000, 8192), counter);
  expect("too many", bytes_of(INT64_MAX, 1000, INT64_MAX), counter);
  /* 16 bytes for a block of at least 16 and at most 256 keys, as many for a tile of 64 to 256. */
  expect("whole entries", one % 16, 0);
  expect("enough entries", one >= 16 * (8192 / 256 + 4), 1);
  expect("few entries", one <= 16 * (8192 / 16 + 16), 1);
  expect("three batches", bytes_of(3, 1000, 8192) - counter, 3 * one);
  expect("no workspace", call(NULL, 0), UNSORTED_DOCUMENTS_BAD_WORKSPACE);
  expect("misaligned workspace", call(aligned + 4, 0), UNSORTED_DOCUMENTS_MISALIGNED);
  expect("aligned workspace", call(aligned, 0), UNSORTED_DOCUMENTS_BAD_STRIDE);
  expect("misaligned input", call(aligned, 2), UNSORTED_DOCUMENTS_MISALIGNED);
  expect("input of its element's alignment", call(aligned, 4), UNSORTED_DOCUMENTS_BAD_STRIDE);
  return failures != 0;
}
