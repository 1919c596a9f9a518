/* Bad arguments get a status and no launch: runs without a GPU, on pointers to nothing. */
#include <stdio.h>
#include <string.h>

#include "llama3_8b.h"

static int failures = 0;

static llama3_8b_forward_args good_args(void) {
  static char memory[64];
  void* const pointer = memory + (16 - (uintptr_t)memory % 16) % 16;
  llama3_8b_forward_args args = {0};
  args.size = sizeof(args);
  args.batch = 2;
  args.seq_q = 100;
  args.seq_kv = 200;
  args.heads_q = 32;
  args.heads_kv = 8;
  args.q = args.k = args.v = args.o = pointer;
  return args;
}

static void expect_with(const char* what, const llama3_8b_forward_args* args, void* workspace,
                        llama3_8b_status wanted) {
  const llama3_8b_status status = llama3_8b_forward(args, workspace, NULL);
  if (status != wanted) {
    printf("%s: \"%s\" instead of \"%s\"\n", what, llama3_8b_status_string(status),
           llama3_8b_status_string(wanted));
    ++failures;
  }
}

/* Of 16 bytes. */
static char* good_workspace(void) {
  static char memory[32];
  return memory + (16 - (uintptr_t)memory % 16) % 16;
}

static void expect(const char* what, const llama3_8b_forward_args* args, llama3_8b_status wanted) {
  expect_with(what, args, good_workspace(), wanted);
}

/* The kernel's tile counter is all that its workspace holds, whatever the call. */
static void check_workspace(void) {
  llama3_8b_forward_args args = good_args();
  args.q_stride_seq = 1; /* what is found when the workspace will do */
  expect_with("no workspace", &args, NULL, LLAMA3_8B_BAD_WORKSPACE);
  expect_with("workspace of an int", &args, good_workspace() + 4, LLAMA3_8B_MISALIGNED);
  expect_with("workspace of 8 bytes", &args, good_workspace() + 8, LLAMA3_8B_MISALIGNED);
  expect_with("good workspace", &args, good_workspace(), LLAMA3_8B_BAD_STRIDE);
  args.batch = 0;
  expect_with("no workspace for no work", &args, NULL, LLAMA3_8B_OK);
  if (llama3_8b_forward_workspace(&args) != 16) {
    puts("the workspace is no counter");
    ++failures;
  }
}

#define EXPECT_IF(change, wanted)              \
  do {                                         \
    llama3_8b_forward_args args = good_args(); \
    change;                                    \
    expect(#change, &args, wanted);            \
  } while (0)

int main(void) {
  expect("no arguments", NULL, LLAMA3_8B_NULL_POINTER);
  EXPECT_IF(args.size = 0, LLAMA3_8B_BAD_ARGS_SIZE);
  EXPECT_IF(args.size += 8, LLAMA3_8B_BAD_ARGS_SIZE);
  EXPECT_IF(args.batch = 0, LLAMA3_8B_OK);
  EXPECT_IF(args.seq_q = 0, LLAMA3_8B_OK);
  EXPECT_IF(args.batch = -1, LLAMA3_8B_BAD_LENGTH);
  EXPECT_IF(args.seq_q = -1, LLAMA3_8B_BAD_LENGTH);
  EXPECT_IF(args.seq_kv = -1, LLAMA3_8B_BAD_LENGTH);
  EXPECT_IF(args.seq_kv = INT64_MAX, LLAMA3_8B_BAD_LENGTH);
  EXPECT_IF(args.seq_kv = INT32_MAX - 1000, LLAMA3_8B_BAD_LENGTH);
  EXPECT_IF(args.batch = args.seq_q = 1 << 24, LLAMA3_8B_BAD_LENGTH);
  EXPECT_IF(args.heads_q = 16, LLAMA3_8B_BAD_HEADS);
  EXPECT_IF(args.heads_kv = 32, LLAMA3_8B_BAD_HEADS);
  EXPECT_IF(args.q = NULL, LLAMA3_8B_NULL_POINTER);
  EXPECT_IF(args.k = NULL, LLAMA3_8B_NULL_POINTER);
  EXPECT_IF(args.v = NULL, LLAMA3_8B_NULL_POINTER);
  EXPECT_IF(args.o = NULL, LLAMA3_8B_NULL_POINTER);
  EXPECT_IF(args.q = (const char*)args.q + 2, LLAMA3_8B_MISALIGNED);
  EXPECT_IF(args.o = (char*)args.o + 8, LLAMA3_8B_MISALIGNED);
  EXPECT_IF(args.lse = (float*)((char*)args.o + 2), LLAMA3_8B_MISALIGNED);
  EXPECT_IF(args.k_stride_seq = 1, LLAMA3_8B_BAD_STRIDE);
  EXPECT_IF(args.v_stride_batch = -8, LLAMA3_8B_BAD_STRIDE);
  EXPECT_IF(args.o_stride_head = 1024, LLAMA3_8B_BAD_STRIDE); /* the others stay zero */
  check_workspace();
  if (strcmp(llama3_8b_status_string((llama3_8b_status)1000),
             llama3_8b_status_string(LLAMA3_8B_OK)) == 0) {
    puts("an unknown status reads as ok");
    ++failures;
  }
  return failures != 0;
}
