// The C entry points: checks and launch. Nothing is allocated or synchronised.
#pragma once

namespace {

// Strides that are all zero mean contiguous in the spec's layout.
Strides strides_of(Strides strides, int64_t length, int64_t heads, int64_t head_dim) {
#if ATTN_VARLEN
  if (strides.seq || strides.head) return strides;
#if ATTN_LAYOUT_BHSD
  return {head_dim, length * head_dim};
#else
  return {head_dim * heads, head_dim};
#endif
#else
  if (strides.batch || strides.seq || strides.head) return strides;
  const int64_t rows = length * head_dim;
#if ATTN_LAYOUT_BHSD
  return {rows * heads, head_dim, rows};
#else
  return {rows * heads, head_dim * heads, head_dim};
#endif
#endif
}

#if ATTN_PAGE_SIZE
PageStrides strides_of(PageStrides strides, int64_t head_dim) {
  if (strides.page || strides.seq || strides.head) return strides;
  const int64_t rows = kPageSize * head_dim;
#if ATTN_LAYOUT_BHSD
  return {rows * kHeadsKv, head_dim, rows};
#else
  return {rows * kHeadsKv, head_dim * kHeadsKv, head_dim};
#endif
}

#endif
// Of a dimension of length 1 the stride does not matter. What is written has no elements in common:
// it has a stride of 8 at least.
#if ATTN_VARLEN
bool valid_strides(const Strides& strides, int64_t length, int64_t heads, int64_t least) {
#else
bool valid_strides(const Strides& strides, int64_t length, int64_t heads, int64_t batch,
                   int64_t least) {
#endif
  const auto valid = [least](int64_t stride, int64_t count, int64_t limit) {
    return count <= 1 || (stride >= least && stride % 8 == 0 && stride < limit);
  };
  // Offsets within a tile of rows, at most 256 of them, fit an int in bytes.
#if ATTN_VARLEN
  return valid(strides.seq, length, int64_t{1} << 22) &&
         valid(strides.head, heads, int64_t{1} << 39);
#else
  return valid(strides.seq, length, int64_t{1} << 22) &&
         valid(strides.head, heads, int64_t{1} << 39) &&
         valid(strides.batch, batch, int64_t{1} << 39);
#endif
}

#if ATTN_PAGE_SIZE
// Those of pages fit 32 bits in bytes.
bool valid_strides(const PageStrides& strides, int64_t pages) {
  const auto valid = [](int64_t stride, int64_t count, int64_t limit) {
    return count <= 1 || (stride >= 0 && stride % 8 == 0 && stride < limit);
  };
  return valid(strides.seq, kPageSize, int64_t{1} << 22) &&
         valid(strides.head, kHeadsKv, int64_t{1} << 39) &&
         valid(strides.page, pages, int64_t{1} << 31);
}

#endif
bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

constexpr int64_t kMost = INT32_MAX - UINT16_MAX;  // what lies a tile behind is still an int
// Tiles of each head: a grid has less than 2^32 threads.
#if ATTN_PACKED_HEADS
constexpr int64_t kMostTiles = UINT32_MAX / kThreads / kTilesBeside;
#else
constexpr int64_t kMostTiles = UINT32_MAX / kThreads / kHeadsQ;
#endif

#if ATTN_VARLEN
// Of a head. Each sequence may end in a tile that is not full.
int64_t most_tiles(const attention_forward_args& args) {
#if ATTN_PACKED_HEADS
  return args.total_q * kGroupRows / kTileQ + args.batch;
#else
  return args.total_q / kTileQ + args.batch;
#endif
}

attention_status check_lengths(const attention_forward_args& args) {
  if (args.batch < 0 || args.total_q < 0 || args.total_kv < 0) return ATTENTION_BAD_LENGTH;
  if (args.batch > kMost || args.total_q > kMost || args.total_kv > kMost) {
    return ATTENTION_BAD_LENGTH;
  }
#if ATTN_FIXED_BATCH
  if (args.batch != ATTN_FIXED_BATCH) return ATTENTION_BAD_LENGTH;
#endif
#if ATTN_PACKED_HEADS
  if (args.total_q > kMost / kGroupRows) return ATTENTION_BAD_LENGTH;
#endif
  return ATTENTION_OK;
}
#else
attention_status check_lengths(const attention_forward_args& args) {
  if (args.batch < 0 || args.seq_q < 0 || args.seq_kv < 0) return ATTENTION_BAD_LENGTH;
  if (args.batch > kMost || args.seq_q > kMost || args.seq_kv > kMost) return ATTENTION_BAD_LENGTH;
#if ATTN_FIXED_BATCH
  if (args.batch != ATTN_FIXED_BATCH) return ATTENTION_BAD_LENGTH;
#endif
#if ATTN_FIXED_SEQ_Q
  if (args.seq_q != ATTN_FIXED_SEQ_Q) return ATTENTION_BAD_LENGTH;
#endif
#if ATTN_FIXED_SEQ_KV
  if (args.seq_kv != ATTN_FIXED_SEQ_KV) return ATTENTION_BAD_LENGTH;
#endif
  return ATTENTION_OK;
}
#endif

#if ATTN_PAGE_SIZE
attention_status check_pages(const attention_forward_args& args, bool any_key) {
  if (args.page_size != kPageSize || args.num_pages < 0 || args.num_pages > kMost) {
    return ATTENTION_BAD_LENGTH;
  }
  if (args.page_table_stride < 0) return ATTENTION_BAD_STRIDE;
  if (reinterpret_cast<uintptr_t>(args.page_table) % 4 != 0) return ATTENTION_MISALIGNED;
  if (any_key && !args.page_table) return ATTENTION_NULL_POINTER;
  return ATTENTION_OK;
}

#endif
attention_status check_args(const attention_forward_args& args) {
  if (const attention_status status = check_lengths(args); status != ATTENTION_OK) return status;
  if (args.heads_q != kHeadsQ || args.heads_kv != kHeadsKv) return ATTENTION_BAD_HEADS;
#if ATTN_VARLEN
  if (most_tiles(args) > kMostTiles) return ATTENTION_BAD_LENGTH;
  if (!args.cu_seqlens_q || !args.cu_seqlens_kv) return ATTENTION_NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(args.cu_seqlens_q) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.cu_seqlens_kv) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
  const bool any_key = args.total_kv > 0;
#else
#if ATTN_PACKED_HEADS
  if (args.seq_q > kMost / kGroupRows) return ATTENTION_BAD_LENGTH;
  const int64_t tiles_per_head = (args.seq_q * kGroupRows + kTileQ - 1) / kTileQ;
#else
  const int64_t tiles_per_head = (args.seq_q + kTileQ - 1) / kTileQ;
#endif
  if (tiles_per_head > 0 && args.batch > kMostTiles / tiles_per_head) return ATTENTION_BAD_LENGTH;
  const bool any_key = args.seq_kv > 0;
#endif
#if ATTN_SPARSE_BITMAP && ATTN_SPARSE
  if (any_key && !args.block_mask) return ATTENTION_NULL_POINTER;
#elif ATTN_SPARSE
  if (any_key && (!args.block_counts || !args.block_indices)) return ATTENTION_NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(args.block_counts) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.block_indices) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
#endif
#if ATTN_PAGE_SIZE
  if (const attention_status status = check_pages(args, any_key); status != ATTENTION_OK) {
    return status;
  }
#endif
  if (!args.q || !args.o || (any_key && (!args.k || !args.v))) return ATTENTION_NULL_POINTER;
  if (!aligned(args.q) || !aligned(args.k) || !aligned(args.v) || !aligned(args.o)) {
    return ATTENTION_MISALIGNED;
  }
  return check_pointers(args);
}

Params params_of(const attention_forward_args& args) {
  Params p{};
  p.q = args.q;
  p.k = args.k;
  p.v = args.v;
  p.o = args.o;
#if ATTN_VARLEN
  p.q_strides =
      strides_of({args.q_stride_seq, args.q_stride_head}, args.total_q, kHeadsQ, kHeadDimQk);
#if !ATTN_PAGE_SIZE
  p.k_strides =
      strides_of({args.k_stride_seq, args.k_stride_head}, args.total_kv, kHeadsKv, kHeadDimQk);
  p.v_strides =
      strides_of({args.v_stride_seq, args.v_stride_head}, args.total_kv, kHeadsKv, kHeadDimV);
#endif
  p.o_strides =
      strides_of({args.o_stride_seq, args.o_stride_head}, args.total_q, kHeadsQ, kHeadDimV);
  p.batch = static_cast<int>(args.batch);
  p.total_q = static_cast<int>(args.total_q);
  p.total_kv = static_cast<int>(args.total_kv);
  p.tiles_per_head = static_cast<int>(most_tiles(args));
  p.cu_seqlens_q = args.cu_seqlens_q;
  p.cu_seqlens_kv = args.cu_seqlens_kv;
#else
  p.q_strides = strides_of({args.q_stride_batch, args.q_stride_seq, args.q_stride_head}, args.seq_q,
                           kHeadsQ, kHeadDimQk);
#if !ATTN_PAGE_SIZE
  p.k_strides = strides_of({args.k_stride_batch, args.k_stride_seq, args.k_stride_head},
                           args.seq_kv, kHeadsKv, kHeadDimQk);
  p.v_strides = strides_of({args.v_stride_batch, args.v_stride_seq, args.v_stride_head},
                           args.seq_kv, kHeadsKv, kHeadDimV);
#endif
  p.o_strides = strides_of({args.o_stride_batch, args.o_stride_seq, args.o_stride_head}, args.seq_q,
                           kHeadsQ, kHeadDimV);
  p.batch = static_cast<int>(args.batch);
  p.seq_q = static_cast<int>(args.seq_q);
  p.seq_kv = static_cast<int>(args.seq_kv);
#if ATTN_PACKED_HEADS
  p.tiles_per_head = (p.seq_q * kGroupRows + kTileQ - 1) / kTileQ;
#else
  p.tiles_per_head = (p.seq_q + kTileQ - 1) / kTileQ;
#endif
#endif
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN
  // Sections of about 4 MB of keys and values, half of the L2, with all query heads of a key head.
  constexpr int64_t kSectionBytes = 4 << 20;
  const int64_t keys = args.seq_kv > 0 ? args.seq_kv : 1;
  const int64_t head_bytes = keys * (kHeadDimQk + kHeadDimV) * kElementBytes;
  const int64_t kv_heads = kSectionBytes / head_bytes;
#if ATTN_PACKED_HEADS
  const int64_t heads = (kv_heads > 1 ? kv_heads : 1) * (kTilesBeside / kHeadsKv);
  p.section_heads =
      static_cast<int>(heads < p.batch * kTilesBeside ? heads : p.batch * kTilesBeside);
#else
  const int64_t heads = (kv_heads > 1 ? kv_heads : 1) * (kHeadsQ / kHeadsKv);
  p.section_heads = static_cast<int>(heads < p.batch * kHeadsQ ? heads : p.batch * kHeadsQ);
#endif
#endif
#if ATTN_SPARSE
  p.cells_q = (p.seq_q + kCellQueries - 1) / kCellQueries;
  p.cells_kv = (p.seq_kv + kCellKeys - 1) / kCellKeys;
#if ATTN_SPARSE_BITMAP
  p.block_mask = args.block_mask;
#else
  p.block_counts = args.block_counts;
  p.block_indices = args.block_indices;
#endif
#endif
#if ATTN_PAGE_SIZE
  p.k_strides = strides_of({args.k_stride_page, args.k_stride_seq, args.k_stride_head}, kHeadDimQk);
  p.v_strides = strides_of({args.v_stride_page, args.v_stride_seq, args.v_stride_head}, kHeadDimV);
  p.page_table = args.page_table;
  p.page_table_stride = args.page_table_stride;
#if ATTN_VARLEN
  if (p.page_table_stride == 0) p.page_table_stride = (p.total_kv + kPageSize - 1) / kPageSize;
#else
  if (p.page_table_stride == 0) p.page_table_stride = (p.seq_kv + kPageSize - 1) / kPageSize;
#endif
  const bool has_room_for_all = p.page_table_stride > kMost / kPageSize;
  p.page_table_keys = static_cast<int>(has_room_for_all ? kMost : p.page_table_stride * kPageSize);
  p.pages = static_cast<int>(args.num_pages);
#endif
  p.inputs = inputs_of(args);
  p.saves = saves_of(args);
  return p;
}

}  // namespace

extern "C" {

size_t attention_forward_workspace(const attention_forward_args*) { return 0; }

attention_status attention_forward(const attention_forward_args* args, void*, void* stream_handle) {
  if (!args) return ATTENTION_NULL_POINTER;
  if (args->size != sizeof(attention_forward_args)) return ATTENTION_BAD_ARGS_SIZE;
#if ATTN_VARLEN
  if (args->batch == 0 || args->total_q == 0) return ATTENTION_OK;
#else
  if (args->batch == 0 || args->seq_q == 0) return ATTENTION_OK;
#endif
  if (const attention_status status = check_args(*args); status != ATTENTION_OK) return status;
  Params p = params_of(*args);
#if ATTN_PAGE_SIZE
  if (!valid_strides(p.k_strides, p.pages) || !valid_strides(p.v_strides, p.pages)) {
    return ATTENTION_BAD_STRIDE;
  }
#endif
#if ATTN_PAGE_SIZE && ATTN_VARLEN
  if (!valid_strides(p.q_strides, p.total_q, kHeadsQ, 0) ||
      !valid_strides(p.o_strides, p.total_q, kHeadsQ, 8)) {
    return ATTENTION_BAD_STRIDE;
  }
#elif ATTN_PAGE_SIZE
  if (!valid_strides(p.q_strides, p.seq_q, kHeadsQ, p.batch, 0) ||
      !valid_strides(p.o_strides, p.seq_q, kHeadsQ, p.batch, 8)) {
    return ATTENTION_BAD_STRIDE;
  }
#elif ATTN_VARLEN
  if (!valid_strides(p.q_strides, p.total_q, kHeadsQ, 0) ||
      !valid_strides(p.k_strides, p.total_kv, kHeadsKv, 0) ||
      !valid_strides(p.v_strides, p.total_kv, kHeadsKv, 0) ||
      !valid_strides(p.o_strides, p.total_q, kHeadsQ, 8)) {
    return ATTENTION_BAD_STRIDE;
  }
#else
  if (!valid_strides(p.q_strides, p.seq_q, kHeadsQ, p.batch, 0) ||
      !valid_strides(p.k_strides, p.seq_kv, kHeadsKv, p.batch, 0) ||
      !valid_strides(p.v_strides, p.seq_kv, kHeadsKv, p.batch, 0) ||
      !valid_strides(p.o_strides, p.seq_q, kHeadsQ, p.batch, 8)) {
    return ATTENTION_BAD_STRIDE;
  }
#endif

  int device = 0;
  hipDeviceProp_t properties;
  if (hipGetDevice(&device) != hipSuccess ||
      hipGetDeviceProperties(&properties, device) != hipSuccess ||
      strncmp(properties.gcnArchName, "gfx90a", 6) != 0) {
    return ATTENTION_BAD_DEVICE;
  }
#if ATTN_VARLEN && ATTN_PACKED_HEADS
  const int blocks = kTilesBeside * p.tiles_per_head;
#elif ATTN_VARLEN
  const int blocks = kHeadsQ * p.tiles_per_head;
#elif ATTN_PACKED_HEADS
  const int blocks = p.batch * kTilesBeside * p.tiles_per_head;
#else
  const int blocks = p.batch * kHeadsQ * p.tiles_per_head;
#endif
  // <<<>>> has no result: hipGetLastError would tell and take away errors of the caller's, too.
  const void* const kernel = reinterpret_cast<const void*>(attention_forward_kernel);
  void* arguments[] = {&p};
  const hipError_t launched = hipLaunchKernel(kernel, dim3(blocks), dim3(kThreads), arguments, 0,
                                              static_cast<hipStream_t>(stream_handle));
  return launched == hipSuccess ? ATTENTION_OK : ATTENTION_LAUNCH_FAILED;
}

const char* attention_status_string(attention_status status) {
  switch (status) {
    case ATTENTION_OK:
      return "ok";
    case ATTENTION_BAD_ARGS_SIZE:
      return "args.size is not the size of the argument struct";
    case ATTENTION_NULL_POINTER:
      return "a required pointer is null";
    case ATTENTION_MISALIGNED:
      return "a pointer is not aligned: q, k, v, o, workspace to 16 bytes, others as documented";
#if ATTN_PAGE_SIZE
    case ATTENTION_BAD_LENGTH:
      return "a length or the number of pages is negative or too large, or a length or the page "
             "size is not the kernel's";
#elif ATTN_FIXED_BATCH || ATTN_FIXED_SEQ_Q || ATTN_FIXED_SEQ_KV
    case ATTENTION_BAD_LENGTH:
      return "a batch or sequence length is negative, differs from the fixed one, or is too large";
#else
    case ATTENTION_BAD_LENGTH:
      return "a batch or sequence length is negative or too large";
#endif
    case ATTENTION_BAD_HEADS:
      return "heads_q or heads_kv is not what the kernel was generated for";
    case ATTENTION_BAD_STRIDE:
      return "a stride is negative, no multiple of 8 elements or too large, or o's is 0";
    case ATTENTION_BAD_WORKSPACE:
      return "the workspace is null";
    case ATTENTION_BAD_DEVICE:
      return "the device is not one that the kernel is for, or its driver is too old";
    case ATTENTION_LAUNCH_FAILED:
      return "the launch failed";
  }
  return "unknown status";
}

}  // extern "C"
