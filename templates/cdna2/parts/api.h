// The C interface. The generator writes the spec's own declarations here.
#pragma once

typedef enum attention_status {
  ATTENTION_OK = 0,
  ATTENTION_BAD_ARGS_SIZE,
  ATTENTION_NULL_POINTER,
  ATTENTION_MISALIGNED,
  ATTENTION_BAD_LENGTH,
  ATTENTION_BAD_HEADS,
  ATTENTION_BAD_STRIDE,
  ATTENTION_BAD_WORKSPACE,
  ATTENTION_BAD_DEVICE,
  ATTENTION_LAUNCH_FAILED,
} attention_status;

typedef struct attention_forward_args {
  size_t size;
#if ATTN_VARLEN
  int64_t batch, total_q, total_kv;
  const int32_t *cu_seqlens_q, *cu_seqlens_kv;
#else
  int64_t batch, seq_q, seq_kv;
#endif
  int32_t heads_q, heads_kv;
  const void *q, *k, *v;
  void* o;
  float* lse;
#if ATTN_VARLEN
  int64_t q_stride_seq, q_stride_head;
  int64_t o_stride_seq, o_stride_head;
#else
  int64_t q_stride_batch, q_stride_seq, q_stride_head;
  int64_t o_stride_batch, o_stride_seq, o_stride_head;
#endif
#if ATTN_PAGE_SIZE
  int64_t k_stride_page, k_stride_seq, k_stride_head;
  int64_t v_stride_page, v_stride_seq, v_stride_head;
  int32_t page_size;
  int64_t num_pages;
  const int32_t* page_table;
  int64_t page_table_stride;
#elif ATTN_VARLEN
  int64_t k_stride_seq, k_stride_head;
  int64_t v_stride_seq, v_stride_head;
#else
  int64_t k_stride_batch, k_stride_seq, k_stride_head;
  int64_t v_stride_batch, v_stride_seq, v_stride_head;
#endif
#if ATTN_SPARSE && ATTN_SPARSE_BITMAP
  const uint8_t* block_mask;
#elif ATTN_SPARSE
  const int32_t *block_counts, *block_indices;
#endif
} attention_forward_args;

namespace {

Inputs inputs_of(const attention_forward_args&) { return {}; }
Saves saves_of(const attention_forward_args& args) { return {args.lse}; }
attention_status check_pointers(const attention_forward_args& args) {
  if (reinterpret_cast<uintptr_t>(args.lse) % 4 != 0) return ATTENTION_MISALIGNED;
  return ATTENTION_OK;
}

}  // namespace
