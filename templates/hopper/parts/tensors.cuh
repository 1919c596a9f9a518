// The tensors of a call, and the maps that the kernel takes of them.
#pragma once

struct Tensors {
#if ATTN_SHARE_KV
  Tensor q, k, o;
#else
  Tensor q, k, v, o;
#endif
};

Tensors tensors_of(const attention_forward_args& a) {
  Tensors t;
#if ATTN_VARLEN
  t.q = tensor(a.q, {0, a.q_stride_seq, a.q_stride_head}, a.total_q, 1, kQueryBox);
#if !ATTN_PAGE_SIZE
  t.k = tensor(a.k, {0, a.k_stride_seq, a.k_stride_head}, a.total_kv, 1, kKeyBox);
#if !ATTN_SHARE_KV
  t.v = tensor(a.v, {0, a.v_stride_seq, a.v_stride_head}, a.total_kv, 1, kValueBox);
#endif
#endif
  t.o = tensor(a.o, {0, a.o_stride_seq, a.o_stride_head}, a.total_q, 1, kOutputBox);
  const bool any_key = a.total_kv > 0;
#else
  t.q =
      tensor(a.q, {a.q_stride_batch, a.q_stride_seq, a.q_stride_head}, a.seq_q, a.batch, kQueryBox);
#if !ATTN_PAGE_SIZE
  t.k =
      tensor(a.k, {a.k_stride_batch, a.k_stride_seq, a.k_stride_head}, a.seq_kv, a.batch, kKeyBox);
#if !ATTN_SHARE_KV
  t.v = tensor(a.v, {a.v_stride_batch, a.v_stride_seq, a.v_stride_head}, a.seq_kv, a.batch,
               kValueBox);
#endif
#endif
  t.o = tensor(a.o, {a.o_stride_batch, a.o_stride_seq, a.o_stride_head}, a.seq_q, a.batch,
               kOutputBox);
  const bool any_key = a.seq_kv > 0;
#endif
#if ATTN_PAGE_SIZE
  t.k = tensor(a.k, {a.k_stride_page, a.k_stride_seq, a.k_stride_head}, kPageSize, a.num_pages,
               kKeyBox);
#if !ATTN_SHARE_KV
  t.v = tensor(a.v, {a.v_stride_page, a.v_stride_seq, a.v_stride_head}, kPageSize, a.num_pages,
               kValueBox);
#endif
#endif
#if ATTN_SHARE_KV
  if (!any_key) t.k = t.q;  // nothing is loaded: any map will do
#else
  if (!any_key) t.k = t.v = t.q;  // nothing is loaded: any map will do
#endif
  return t;
}

bool valid_strides(const Tensors& t) {
#if ATTN_SHARE_KV
  return valid_strides(t.q, 0) && valid_strides(t.k, 0) && valid_strides(t.o, 8);
#else
  return valid_strides(t.q, 0) && valid_strides(t.k, 0) && valid_strides(t.v, 0) &&
         valid_strides(t.o, 8);
#endif
}

attention_status encode(EncodeTiled encoder, TensorMaps& maps, const Tensors& tensors) {
  struct {
    CUtensorMap& map;
    const Tensor& tensor;
#if ATTN_ROW_BY_ROW
  } const pairs[] = {{maps.q, tensors.q}, {maps.o, tensors.o}};
#elif ATTN_SHARE_KV
  } const pairs[] = {{maps.q, tensors.q}, {maps.k, tensors.k}, {maps.o, tensors.o}};
#else
  } const pairs[] = {
      {maps.q, tensors.q}, {maps.k, tensors.k}, {maps.v, tensors.v}, {maps.o, tensors.o}};
#endif
  for (const auto& [map, tensor] : pairs) {
    const attention_status status = encode(encoder, map, tensor);
    if (status != ATTENTION_OK) return status;
  }
  return ATTENTION_OK;
}
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED

BiasLayout bias_layout_of(const Params& p) {
  const Tensor bias = bias_of(p);
  constexpr int kMostByTma = INT32_MAX / 4;  // its coordinates are ints
#if ATTN_BIAS_BYTES == 1
  const bool columns = p.seq_kv % 2 == 0;  // of two bytes
  const bool by_tma = columns && p.seq_kv > 0 && p.seq_kv < kMostByTma && aligned(bias.data) &&
                      valid_strides(bias, 8);
#else
  const bool by_tma =
      p.seq_kv > 0 && p.seq_kv < kMostByTma && aligned(bias.data) && valid_strides(bias, 8);
#endif
  if (by_tma) return BiasLayout::kSwizzled;
  const bool in_pairs =
      p.seq_kv % 2 == 0 && reinterpret_cast<uintptr_t>(bias.data) % (2 * kBiasBytes) == 0;
  return in_pairs ? BiasLayout::kPairs : BiasLayout::kElements;
}
#endif
#if ATTN_ROW_BY_ROW

// Of keys or values, for those who read them without TMA.
Rows rows_of(const Tensor& tensor) {
#if ATTN_PAGE_SIZE
  const auto copies = [](int64_t stride) {
    return static_cast<int>(stride * kElementBytes / kPlaceBytes);
  };
  return {static_cast<const uint8_t*>(tensor.data), tensor.strides.head * kElementBytes,
          copies(tensor.strides.batch), copies(tensor.strides.seq)};
#elif ATTN_VARLEN
  return {static_cast<const uint8_t*>(tensor.data), tensor.strides.head * kElementBytes,
          static_cast<int>(tensor.strides.seq * kElementBytes / kPlaceBytes)};
#else
  return {static_cast<const uint8_t*>(tensor.data), tensor.strides.batch * kElementBytes,
          tensor.strides.head * kElementBytes,
          static_cast<int>(tensor.strides.seq * kElementBytes / kPlaceBytes)};
#endif
}

// Whether an int tells where each row of a head begins.
bool has_places(const Tensor& tensor) {
  constexpr int64_t kMostColumns = int64_t{INT32_MAX} * kPlaceBytes / kElementBytes;
#if ATTN_PAGE_SIZE
  if (tensor.strides.seq > kMostColumns / kPageSize) return false;
  const int64_t before = kMostColumns - tensor.strides.seq * kPageSize;  // a page begins
  return tensor.batch <= 1 || tensor.strides.batch <= before / tensor.batch;
#else
  return tensor.length <= 1 || tensor.strides.seq <= kMostColumns / tensor.length;
#endif
}
#endif
