// The tensors of a call as TMA sees them.
#pragma once

struct Strides {
  int64_t batch, seq, head;  // in elements
};

// What of a tensor is known at compile time, and the box that one TMA copy moves.
struct TensorBox {
  int heads, head_dim, columns, rows;
#if ATTN_PACKED_HEADS
  int group;  // heads of a box
#endif
#if ATTN_PACKED_HEADS && ATTN_MAPS > 1
  int step;  // from one of these to the next: between a map's lie the other's
#endif
};
#if ATTN_PACKED_HEADS
#if ATTN_MAPS > 1
constexpr TensorBox kQueryBox{kMaps * kHeadsQ, kHeadDimQk, kChunkQk,
                              64 / kGroupRows, kGroupRows, kMaps};
constexpr TensorBox kKeyBox{kMaps * kHeadsKv, kHeadDimQk, kChunkQk, ATTN_COPIED_KEYS, 1, 1};
constexpr TensorBox kValueBox{kHeadsKv, kHeadDimV, kChunkV, ATTN_COPIED_KEYS, 1, 1};
constexpr TensorBox kOutputBox{kHeadsQ, kHeadDimV, kChunkV, 64 / kGroupRows, kGroupRows, 1};
#else
constexpr TensorBox kQueryBox{kHeadsQ, kHeadDimQk, kChunkQk, 64 / kGroupRows, kGroupRows};
constexpr TensorBox kKeyBox{kHeadsKv, kHeadDimQk, kChunkQk, ATTN_COPIED_KEYS, 1};
#if ATTN_VALUE_PARTS > 1
constexpr TensorBox kValueBox{kHeadsKv, kOutputDim, kChunkV, ATTN_COPIED_KEYS, 1};
#elif !ATTN_SHARE_KV
constexpr TensorBox kValueBox{kHeadsKv, kHeadDimV, kChunkV, ATTN_COPIED_KEYS, 1};
#endif
#if ATTN_VALUE_PARTS > 1 || ATTN_SIDES > 1
constexpr TensorBox kOutputBox{kHeadsQ, kOutputDim, kChunkV, 64 / kGroupRows, kGroupRows};
#else
constexpr TensorBox kOutputBox{kHeadsQ, kHeadDimV, kChunkV, 64 / kGroupRows, kGroupRows};
#endif
#endif
#else
#if ATTN_MAPS > 1
constexpr TensorBox kQueryBox{kMaps * kHeadsQ, kHeadDimQk, kChunkQk, 64};
constexpr TensorBox kKeyBox{kMaps * kHeadsKv, kHeadDimQk, kChunkQk, ATTN_COPIED_KEYS};
#else
constexpr TensorBox kQueryBox{kHeadsQ, kHeadDimQk, kChunkQk, 64};
constexpr TensorBox kKeyBox{kHeadsKv, kHeadDimQk, kChunkQk, ATTN_COPIED_KEYS};
#endif
#if ATTN_VALUE_PARTS > 1
constexpr TensorBox kValueBox{kHeadsKv, kOutputDim, kChunkV, ATTN_COPIED_KEYS};
constexpr TensorBox kOutputBox{kHeadsQ, kOutputDim, kChunkV, 64};
#elif ATTN_SIDES > 1
constexpr TensorBox kOutputBox{kHeadsQ, kOutputDim, kChunkV, 64};
#else
#if !ATTN_SHARE_KV
constexpr TensorBox kValueBox{kHeadsKv, kHeadDimV, kChunkV, ATTN_COPIED_KEYS};
#endif
constexpr TensorBox kOutputBox{kHeadsQ, kHeadDimV, kChunkV, 64};
#endif
#endif

// A tensor as TMA sees it: {head_dim, length, heads, batch}.
struct Tensor {
  const void* data;
  Strides strides;
  int64_t length, batch;
  TensorBox box;
};

// Strides that are all zero mean contiguous in the spec's layout.
Tensor tensor(const void* data, Strides strides, int64_t length, int64_t batch,
              const TensorBox& box) {
  if (!strides.batch && !strides.seq && !strides.head) {
    const int64_t row = box.head_dim, rows = length * box.head_dim;
#if ATTN_LAYOUT_BHSD
    strides = {rows * box.heads, row, rows};
#else
    strides = {rows * box.heads, row * box.heads, row};
#endif
  }
  return {data, strides, length, batch, box};
}

// TMA strides are multiples of 16 bytes below 2^40; of a dimension of length 1 it does not matter.
// What is written has no elements in common: it has a stride of 8 at least.
bool valid_strides(const Tensor& t, int64_t least) {
  const auto valid = [least](int64_t stride, int64_t length) {
    return length <= 1 || (stride >= least && stride % 8 == 0 && stride < (int64_t{1} << 39));
  };
  return valid(t.strides.seq, t.length) && valid(t.strides.head, t.box.heads) &&
         valid(t.strides.batch, t.batch);
}

// The driver's encoder, found at run time so that nothing links against libcuda.
using EncodeTiled = decltype(&cuTensorMapEncodeTiled);
EncodeTiled find_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<EncodeTiled>(function);
}

attention_status encode(EncodeTiled encoder, CUtensorMap& map, const Tensor& t) {
  const auto at_least_one = [](int64_t n) { return static_cast<cuuint64_t>(n > 0 ? n : 1); };
  const auto bytes = [](int64_t stride, int64_t length) {
    return static_cast<cuuint64_t>(length > 1 ? stride * kElementBytes : 16);
  };
#if ATTN_PACKED_HEADS
  // A box of several heads has them innermost, query by query: {head_dim, heads, length, batch}.
  const bool packed = t.box.group > 1;
  const int head = packed ? 1 : 2, row = packed ? 2 : 1;
  cuuint64_t dims[4] = {at_least_one(t.box.head_dim), 0, 0, at_least_one(t.batch)};
  dims[head] = at_least_one(t.box.heads);
  dims[row] = at_least_one(t.length);
  cuuint64_t strides[3] = {0, 0, bytes(t.strides.batch, t.batch)};
  strides[head - 1] = bytes(t.strides.head, t.box.heads);
  strides[row - 1] = bytes(t.strides.seq, t.length);
  cuuint32_t box[4] = {static_cast<cuuint32_t>(t.box.columns), 0, 0, 1};
#if ATTN_MAPS > 1
  // A box of as many as lie between its first and its last, of which it takes every step-th.
  box[head] = static_cast<cuuint32_t>(t.box.group * t.box.step);
#else
  box[head] = static_cast<cuuint32_t>(t.box.group);
#endif
  box[row] = static_cast<cuuint32_t>(t.box.rows);
#else
  const cuuint64_t dims[] = {at_least_one(t.box.head_dim), at_least_one(t.length),
                             at_least_one(t.box.heads), at_least_one(t.batch)};
  const cuuint64_t strides[] = {bytes(t.strides.seq, t.length), bytes(t.strides.head, t.box.heads),
                                bytes(t.strides.batch, t.batch)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(t.box.columns),
                            static_cast<cuuint32_t>(t.box.rows), 1, 1};
#endif
#if ATTN_PACKED_HEADS && ATTN_MAPS > 1
  cuuint32_t steps[] = {1, 1, 1, 1};
  steps[head] = static_cast<cuuint32_t>(t.box.step);
#else
  const cuuint32_t steps[] = {1, 1, 1, 1};
#endif
#if ATTN_BF16
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
#else
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
#endif
  const CUtensorMapSwizzle swizzle =
      t.box.columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  const CUresult result =
      encoder(&map, type, 4, const_cast<void*>(t.data), dims, strides, box, steps,
              CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return ATTENTION_OK;
  if (result == CUDA_ERROR_INVALID_VALUE) return ATTENTION_BAD_STRIDE;
  return ATTENTION_BAD_DEVICE;
}

#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
// The bias as a tensor of elements of two bytes, [matrices, seq_q, seq_kv].
Tensor bias_of(const Params& p) {
  const int64_t row = int64_t{p.seq_kv} * kBiasBytes / 2;
  const int matrices = static_cast<int>(bias_matrices(p.batch));
#if ATTN_PACKED_HEADS && ATTN_BIAS_GROUPED
  const TensorBox box{matrices, static_cast<int>(row), kChunkBias, kBiasRows, 1};
#elif ATTN_PACKED_HEADS
  // The matrices of the heads that share a tile are neighbours.
  const TensorBox box{matrices, static_cast<int>(row), kChunkBias, 64 / kGroupRows, kGroupRows};
#else
  const TensorBox box{matrices, static_cast<int>(row), kChunkBias, 64};
#endif
  return {bias_data(p.inputs), {0, row, row * p.seq_q}, p.seq_q, 1, box};
}
#endif
