/* A cache in pages: what is wrong with its arguments, and what the kernel is told of them. */
#define ARGUMENT_WORDS 21
#include "paged.h"
#include "runtime.h"

enum { kBatch = 3, kHeadsQ = 32, kHeadsKv = 8, kDim = 128, kPage = 64, kKeys = 1000 };
/* Of the argument's words: after 4 pointers and the strides of q those of k and v; then those of o,
   four numbers, the offsets. */
enum { kStridesK = 6, kStridesV = 9, kTable = 18, kTableStride = 19, kTableKeys = 20 };

static paged_forward_args args_of(void) {
  static char memory[64];
  static const int32_t offsets[kBatch + 1] = {0};
  paged_forward_args args = {0};
  args.size = sizeof(args);
  args.batch = kBatch;
  args.total_q = kBatch;
  args.total_kv = kKeys;
  args.cu_seqlens_q = args.cu_seqlens_kv = args.page_table = offsets;
  args.heads_q = kHeadsQ;
  args.heads_kv = kHeadsKv;
  args.q = args.k = args.v = args.o = memory + (16 - (uintptr_t)memory % 16) % 16;
  args.page_size = kPage;
  args.num_pages = 77;
  return args;
}

static void expect_status(const char* what, const paged_forward_args* args, paged_status status) {
  expect(what, paged_forward(args, NULL, NULL), status);
}

static void check_told(void) {
  paged_forward_args args = args_of();
  expect_status("a call", &args, PAGED_OK);
  for (int i = kStridesK; i <= kStridesV; i += kStridesV - kStridesK) {
    expect("a page's stride", words[i], kPage * kHeadsKv * kDim);
    expect("a key's stride", words[i + 1], kHeadsKv * kDim);
    expect("a head's stride", words[i + 2], kDim);
  }
  expect("the table", words[kTable] == (int64_t)(uintptr_t)args.page_table, 1);
  expect("pages of each row", words[kTableStride], (kKeys + kPage - 1) / kPage);
  expect("keys of each row", (int32_t)words[kTableKeys], (kKeys + kPage - 1) / kPage * kPage);
  expect("pages", (long)(words[kTableKeys] >> 32), 77);
  args.page_table_stride = INT64_C(1) << 40;
  args.k_stride_page = 8;
  expect_status("a wide table", &args, PAGED_OK);
  expect("a stride given", words[kStridesK], 8);
  expect("the other two", words[kStridesK + 1] == 0 && words[kStridesK + 2] == 0, 1);
  expect("most keys of a row", (int32_t)words[kTableKeys], INT32_MAX - UINT16_MAX);
}

static void check_pages(void) {
  paged_forward_args args = args_of();
  args.page_size = 2 * kPage;
  expect_status("another page size", &args, PAGED_BAD_LENGTH);
  args = args_of();
  args.num_pages = INT64_C(1) << 31;
  expect_status("too many pages", &args, PAGED_BAD_LENGTH);
  args.num_pages = -1;
  expect_status("a negative number of pages", &args, PAGED_BAD_LENGTH);
  expect("its text", strstr(paged_status_string(PAGED_BAD_LENGTH), "number of pages") != NULL, 1);
  args.num_pages = 0;
  expect_status("no page", &args, PAGED_OK);
}

static void check_table(void) {
  paged_forward_args args = args_of();
  args.page_table_stride = -1;
  expect_status("a negative stride of the table", &args, PAGED_BAD_STRIDE);
  args = args_of();
  args.page_table = (const int32_t*)((const char*)args.page_table + 2);
  expect_status("a misaligned table", &args, PAGED_MISALIGNED);
  args.page_table = NULL;
  expect_status("no table", &args, PAGED_NULL_POINTER);
  args.total_kv = 0;
  expect_status("no table and no key", &args, PAGED_OK);
}

static void check_strides(void) {
  paged_forward_args args = args_of();
  args.k_stride_page = args.v_stride_page = (INT64_C(1) << 31) - 8;
  expect_status("the farthest pages", &args, PAGED_OK);
  args.v_stride_page += 8;
  expect_status("pages too far apart", &args, PAGED_BAD_STRIDE);
  args.num_pages = 1;
  expect_status("one page", &args, PAGED_OK);
  args.v_stride_seq = 4;
  expect_status("an odd stride of keys", &args, PAGED_BAD_STRIDE);
}

int main(void) {
  check_told();
  check_pages();
  check_table();
  check_strides();
  return failures != 0;
}
