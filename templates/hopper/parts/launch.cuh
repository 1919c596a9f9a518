// The C entry points: checks, tensor maps, launch. Nothing is allocated or synchronised.
#pragma once

namespace {

struct Strides {
  int64_t batch, seq, head;  // in elements
};

// What of a tensor is known at compile time, and the box that one TMA copy moves.
struct TensorBox {
  int heads, head_dim, columns, rows;
#if ATTN_PACKED_HEADS
  int group;  // heads of a box
#endif
};
#if ATTN_PACKED_HEADS
constexpr TensorBox kQueryBox{kHeadsQ, kHeadDimQk, kChunkQk, 64 / kGroup, kGroup};
constexpr TensorBox kKeyBox{kHeadsKv, kHeadDimQk, kChunkQk, kTileKv, 1};
constexpr TensorBox kValueBox{kHeadsKv, kHeadDimV, kChunkV, kTileKv, 1};
constexpr TensorBox kOutputBox{kHeadsQ, kHeadDimV, kChunkV, 64 / kGroup, kGroup};
#else
#if ATTN_MAPS > 1
constexpr TensorBox kQueryBox{kMaps * kHeadsQ, kHeadDimQk, kChunkQk, 64};
constexpr TensorBox kKeyBox{kMaps * kHeadsKv, kHeadDimQk, kChunkQk, kTileKv};
#else
constexpr TensorBox kQueryBox{kHeadsQ, kHeadDimQk, kChunkQk, 64};
constexpr TensorBox kKeyBox{kHeadsKv, kHeadDimQk, kChunkQk, kTileKv};
#endif
#if ATTN_VALUE_PARTS > 1
constexpr TensorBox kValueBox{kHeadsKv, kOutputDim, kChunkV, kTileKv};
constexpr TensorBox kOutputBox{kHeadsQ, kOutputDim, kChunkV, 64};
#else
constexpr TensorBox kValueBox{kHeadsKv, kHeadDimV, kChunkV, kTileKv};
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
bool valid_strides(const Tensor& t) {
  const auto valid = [](int64_t stride, int64_t length) {
    return length <= 1 || (stride > 0 && stride % 8 == 0 && stride < (int64_t{1} << 39));
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

bool encode(EncodeTiled encoder, CUtensorMap& map, const Tensor& t) {
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
  box[head] = static_cast<cuuint32_t>(t.box.group);
  box[row] = static_cast<cuuint32_t>(t.box.rows);
#else
  const cuuint64_t dims[] = {at_least_one(t.box.head_dim), at_least_one(t.length),
                             at_least_one(t.box.heads), at_least_one(t.batch)};
  const cuuint64_t strides[] = {bytes(t.strides.seq, t.length), bytes(t.strides.head, t.box.heads),
                                bytes(t.strides.batch, t.batch)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(t.box.columns),
                            static_cast<cuuint32_t>(t.box.rows), 1, 1};
#endif
  const cuuint32_t steps[] = {1, 1, 1, 1};
#if ATTN_BF16
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
#else
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
#endif
  const CUtensorMapSwizzle swizzle =
      t.box.columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  return encoder(&map, type, 4, const_cast<void*>(t.data), dims, strides, box, steps,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

#if ATTN_BIAS
// The bias as a tensor of elements of two bytes, [matrices, seq_q, seq_kv].
Tensor bias_of(const Params& p) {
  const int64_t row = int64_t{p.seq_kv} * (kBiasBytes / 2);
  const int matrices = static_cast<int>(bias_matrices(p.batch));
  return {bias_data(p.inputs),
          {0, row, row * p.seq_q},
          p.seq_q,
          1,
          {matrices, static_cast<int>(row), kChunkBias, 64}};
}
#endif

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

#if ATTN_VARLEN
// Every sequence may end in a tile that is not full.
int64_t most_tiles(const attention_forward_args& args) {
#if ATTN_VALUE_PARTS > 1
  return (args.total_q / kTileQ + args.batch) * kHeadsQ * kValueParts;
#else
  return (args.total_q / kTileQ + args.batch) * kHeadsQ;
#endif
}
#endif

attention_status check_args(const attention_forward_args& args) {
  constexpr int64_t kMost = INT32_MAX - kTileQ - kTileKv;  // row and key indices fit an int
#if ATTN_VARLEN
  if (args.batch < 0 || args.total_q < 0 || args.total_kv < 0) return ATTENTION_BAD_LENGTH;
  if (args.batch > kMost || args.total_q > kMost || args.total_kv > kMost) {
    return ATTENTION_BAD_LENGTH;
  }
#else
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
#endif
  if (args.heads_q != kHeadsQ || args.heads_kv != kHeadsKv) return ATTENTION_BAD_HEADS;
#if ATTN_VARLEN
  if (most_tiles(args) > kMost) return ATTENTION_BAD_LENGTH;
  if (!args.cu_seqlens_q || !args.cu_seqlens_kv) return ATTENTION_NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(args.cu_seqlens_q) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.cu_seqlens_kv) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
  const bool any_key = args.total_kv > 0;
#else
#if ATTN_PACKED_HEADS
  if (args.seq_q > kMost / kGroup) return ATTENTION_BAD_LENGTH;
  const int64_t tiles_per_head = (args.seq_q * kGroup + kTileQ - 1) / kTileQ;
  if (tiles_per_head > 0 && args.batch > kMost / kHeadsKv / tiles_per_head) {
    return ATTENTION_BAD_LENGTH;
  }
#else
  const int64_t tiles_per_head = (args.seq_q + kTileQ - 1) / kTileQ;
#if ATTN_VALUE_PARTS > 1
  if (tiles_per_head > 0 && args.batch > kMost / kHeadsQ / kValueParts / tiles_per_head) {
    return ATTENTION_BAD_LENGTH;
  }
#else
  if (tiles_per_head > 0 && args.batch > kMost / kHeadsQ / tiles_per_head) {
    return ATTENTION_BAD_LENGTH;
  }
#endif
#endif
#if ATTN_SPARSE_BITMAP
  if (args.seq_kv > 0 && !args.block_mask) return ATTENTION_NULL_POINTER;
#elif ATTN_SPARSE
  if (args.seq_kv > 0 && (!args.block_counts || !args.block_indices)) {
    return ATTENTION_NULL_POINTER;
  }
  if (reinterpret_cast<uintptr_t>(args.block_counts) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.block_indices) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
#endif
  const bool any_key = args.seq_kv > 0;
#endif
  if (!args.q || !args.o || (any_key && (!args.k || !args.v))) return ATTENTION_NULL_POINTER;
  if (!aligned(args.q) || !aligned(args.k) || !aligned(args.v) || !aligned(args.o)) {
    return ATTENTION_MISALIGNED;
  }
  return check_inputs(args);
}

Params params_of(const attention_forward_args& args) {
  Params p{};
  p.batch = static_cast<int>(args.batch);
#if ATTN_VARLEN
  p.total_q = static_cast<int>(args.total_q);
  p.total_kv = static_cast<int>(args.total_kv);
  p.tiles = static_cast<int>(most_tiles(args));
  p.cu_seqlens_q = args.cu_seqlens_q;
  p.cu_seqlens_kv = args.cu_seqlens_kv;
  p.inputs = inputs_of(args);
  p.saves = saves_of(args);
#else
  p.seq_q = static_cast<int>(args.seq_q);
  p.seq_kv = static_cast<int>(args.seq_kv);
#if ATTN_PACKED_HEADS
  p.tiles_per_head = (p.seq_q * kGroup + kTileQ - 1) / kTileQ;
  p.tiles = p.tiles_per_head * kHeadsKv * p.batch;
#else
  p.tiles_per_head = (p.seq_q + kTileQ - 1) / kTileQ;
#if ATTN_VALUE_PARTS > 1
  p.tiles = p.tiles_per_head * kHeadsQ * p.batch * kValueParts;
#else
  p.tiles = p.tiles_per_head * kHeadsQ * p.batch;
#endif
#endif
#if ATTN_SPARSE
  p.squares_q = (p.seq_q + kSquare - 1) / kSquare;
  p.squares_kv = (p.seq_kv + kSquare - 1) / kSquare;
#if ATTN_SPARSE_BITMAP
  p.block_mask = args.block_mask;
#else
  p.block_counts = args.block_counts;
  p.block_indices = args.block_indices;
#endif
#endif
  p.inputs = inputs_of(args);
  p.saves = saves_of(args);
#endif
  return p;
}
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN

// Tiles come in sections of heads whose keys and values, 16 MB, have a third of the L2.
#if !ATTN_SPARSE
// In the last section short tiles fill what long ones leave of the time: it has two tiles for each
// place of a block, as far as 24 MB of keys and values go, and the heads that the sections before
// cannot share out evenly.
#endif
void place_sections(Params& p, const attention_forward_args& args, int places) {
  constexpr int64_t kSectionBytes = 16 << 20, kOne = 1;
  // Of a key and its value.
#if ATTN_MAPS > 1
  constexpr int64_t kBytes = (kMaps * kHeadDimQk + kHeadDimV) * kElementBytes;
#else
  constexpr int64_t kBytes = (kHeadDimQk + kHeadDimV) * kElementBytes;
#endif
#if ATTN_PACKED_HEADS
  constexpr int kHeads = 1;
#else
  constexpr int kHeads = kHeadsQ / kHeadsKv;  // of queries, on the same keys
#endif
  const int64_t all = args.batch * kHeadsKv, head_bytes = max(args.seq_kv, kOne) * kBytes;
  const int64_t usual = max(kSectionBytes / head_bytes, kOne);
#if ATTN_SPARSE
  (void)places;
  p.last_section = static_cast<int>((all - 1) / usual);
  p.section_heads = static_cast<int>(min(usual, all)) * kHeads;
#else
  constexpr int64_t kLastBytes = 24 << 20;
  const int64_t most = max(kLastBytes / head_bytes, kOne);
  const int64_t tiles = int64_t{p.tiles_per_head} * kHeads;
  const int64_t last = min(max((2 * places + tiles - 1) / tiles, usual), most);
  const int64_t before = max(all - last, int64_t{0});
  p.last_section = static_cast<int>((before + usual - 1) / usual);
  p.section_heads = static_cast<int>(before > 0 ? before / p.last_section : all) * kHeads;
#endif
}
#endif
#if ATTN_ID_TABLES

// Bytes of the tables of ids, or none for a call that is refused. They begin the workspace.
size_t prepared_bytes(const attention_forward_args& args) {
  const auto in_range = [](int64_t n) { return n > 0 && n <= INT32_MAX - kTileQ - kTileKv; };
  if (!in_range(args.batch) || !in_range(args.seq_q) || !in_range(args.seq_kv) ||
      args.batch > INT32_MAX / kHeadsQ) {
    return 0;
  }
  size_t bytes = 0;
  for (int table = 0; table < kIdTables; ++table) {
    bytes +=
        sizeof(int4) * table_entries(table, static_cast<int>(args.batch),
                                     static_cast<int>(args.seq_q), static_cast<int>(args.seq_kv));
  }
  return bytes;
}

// Gives each its place. Returns how many blocks of the kernel that fills them are worth while.
int place_tables(Params& p, void* workspace, int cores) {
  constexpr int kWarps = kPrepareThreads / 32, kMostPerCore = 8;
  int4* place = static_cast<int4*>(workspace);
  int64_t blocks = 1;
  for (int table = 0; table < kIdTables; ++table) {
    p.inputs.attn_tables[table] = place;
    const int64_t entries = table_entries(table, p.batch, p.seq_q, p.seq_kv);
    place += entries;
    if (entries > blocks * kWarps) blocks = (entries + kWarps - 1) / kWarps;
  }
  const int64_t most = int64_t{cores} * kMostPerCore;
  return static_cast<int>(blocks < most ? blocks : most);
}
#endif

#if ATTN_FAR

// Chunks of keys whose states are worth a kernel of their own.
int chunks_of(const attention_forward_args& args) {
  constexpr int64_t kFewestQueries = ATTN_FEWEST_FAR_QUERIES;
  constexpr int64_t kMostKeys = INT32_MAX - kTileQ - kTileKv;
  if (args.seq_q < kFewestQueries || args.seq_kv > kMostKeys) return 0;
#if ATTN_MASKED
  return static_cast<int>((args.seq_kv - 1) / kChunkKeys);  // no tile has the last key behind it
#else
  return static_cast<int>(args.seq_kv / kChunkKeys);
#endif
}

// Bytes of the states, or none for a call that is refused. They begin the workspace.
size_t prepared_bytes(const attention_forward_args& args) {
  if (args.batch <= 0 || args.batch > INT32_MAX / kHeadsQ) return 0;
  const int64_t chunks = chunks_of(args);
  return static_cast<size_t>(chunks > 0 ? chunks : 0) * args.batch * kHeadsQ * kStateBytes;
}
#endif

// Launches a kernel that waits by itself for those before it (wait_for_stream).
template <typename... Parameters, typename... Arguments>
bool launch(void (*kernel)(Parameters...), int blocks, int threads, size_t shared_bytes,
            cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config{dim3(blocks), dim3(threads), shared_bytes, stream, &early, 1};
  return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}

}  // namespace

extern "C" {

#if ATTN_VARLEN
size_t attention_forward_workspace(const attention_forward_args* args) {
  const int64_t batch = args && args->batch > 0 ? args->batch : 0;
  return static_cast<size_t>(batch) * sizeof(Sequence) + 2 * sizeof(int);
}
#elif ATTN_ID_TABLES || ATTN_FAR
size_t attention_forward_workspace(const attention_forward_args* args) {
  const size_t prepared = args ? prepared_bytes(*args) : 0;
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  return prepared + sizeof(unsigned);  // the counter that hands out tiles
#else
  return prepared;
#endif
}
#else
size_t attention_forward_workspace(const attention_forward_args*) {
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  return sizeof(unsigned);  // the counter that hands out tiles
#else
  return 0;
#endif
}
#endif

attention_status attention_forward(const attention_forward_args* args, void* workspace,
                                   void* stream_handle) {
  if (!args) return ATTENTION_NULL_POINTER;
  if (args->size != sizeof(attention_forward_args)) return ATTENTION_BAD_ARGS_SIZE;
#if ATTN_VARLEN
  if (args->batch == 0 || args->total_q == 0) return ATTENTION_OK;
#else
  if (args->batch == 0 || args->seq_q == 0) return ATTENTION_OK;
#endif
  if (const attention_status status = check_args(*args); status != ATTENTION_OK) return status;
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  if (!workspace) return ATTENTION_BAD_WORKSPACE;
#elif ATTN_ID_TABLES || ATTN_FAR
  if (!workspace && prepared_bytes(*args) > 0) return ATTENTION_BAD_WORKSPACE;
#endif
#if ATTN_VARLEN || ATTN_ID_TABLES || ATTN_FAR
  if (!aligned(workspace)) return ATTENTION_MISALIGNED;
#endif

  const auto& a = *args;
#if ATTN_VARLEN
  const Tensor q = tensor(a.q, {0, a.q_stride_seq, a.q_stride_head}, a.total_q, 1, kQueryBox);
  Tensor k = tensor(a.k, {0, a.k_stride_seq, a.k_stride_head}, a.total_kv, 1, kKeyBox);
  Tensor v = tensor(a.v, {0, a.v_stride_seq, a.v_stride_head}, a.total_kv, 1, kValueBox);
  const Tensor o = tensor(a.o, {0, a.o_stride_seq, a.o_stride_head}, a.total_q, 1, kOutputBox);
  if (a.total_kv == 0) k = v = q;  // nothing is loaded: any map will do
#else
  const Tensor q =
      tensor(a.q, {a.q_stride_batch, a.q_stride_seq, a.q_stride_head}, a.seq_q, a.batch, kQueryBox);
  Tensor k =
      tensor(a.k, {a.k_stride_batch, a.k_stride_seq, a.k_stride_head}, a.seq_kv, a.batch, kKeyBox);
  Tensor v = tensor(a.v, {a.v_stride_batch, a.v_stride_seq, a.v_stride_head}, a.seq_kv, a.batch,
                    kValueBox);
  const Tensor o = tensor(a.o, {a.o_stride_batch, a.o_stride_seq, a.o_stride_head}, a.seq_q,
                          a.batch, kOutputBox);
  if (a.seq_kv == 0) k = v = q;  // nothing is loaded: any map will do
#endif
  if (!valid_strides(q) || !valid_strides(k) || !valid_strides(v) || !valid_strides(o)) {
    return ATTENTION_BAD_STRIDE;
  }

  int device = 0, major = 0, cores = 0;
  static const EncodeTiled encoder = find_encoder();
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&cores, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      major != 9 || !encoder) {
    return ATTENTION_BAD_DEVICE;
  }
  CUtensorMap map_q, map_k, map_v, map_o;
  if (!encode(encoder, map_q, q) || !encode(encoder, map_k, k) || !encode(encoder, map_v, v) ||
      !encode(encoder, map_o, o)) {
    return ATTENTION_BAD_STRIDE;
  }

  Params p = params_of(a);
#if ATTN_PERSISTENT || ATTN_LONGEST_FIRST
  const int places = cores * kBlocksPerCore;
#endif
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN
  place_sections(p, a, places);
#endif
#if ATTN_BIAS
  const Tensor bias = bias_of(p);
  constexpr int kMostByTma = INT32_MAX / 4;  // its coordinates are ints
  p.bias_by_tma =
      a.seq_kv > 0 && a.seq_kv < kMostByTma && aligned(bias.data) && valid_strides(bias);
  CUtensorMap map_bias;
  if (!encode(encoder, map_bias, p.bias_by_tma ? bias : q)) return ATTENTION_BAD_STRIDE;
#endif
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
#if ATTN_VARLEN
  p.o = static_cast<uint8_t*>(a.o);
  p.o_stride_seq = o.strides.seq;
  p.o_stride_head = o.strides.head;
  p.sequences = static_cast<Sequence*>(workspace);
  p.tile_count = reinterpret_cast<int*>(p.sequences + p.batch);
  p.next_tile = reinterpret_cast<unsigned*>(p.tile_count + 1);
  if (!launch(attention_forward_prepare, 1, kPrepareThreads, 0, stream, p)) {
    return ATTENTION_LAUNCH_FAILED;
  }
#elif ATTN_ID_TABLES
  const int prepare_blocks = place_tables(p, workspace, cores);
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  p.next_tile =
      reinterpret_cast<unsigned*>(static_cast<uint8_t*>(workspace) + prepared_bytes(*args));
#endif
  if (!launch(attention_forward_prepare, prepare_blocks, kPrepareThreads, 0, stream, p)) {
    return ATTENTION_LAUNCH_FAILED;
  }
#elif ATTN_FAR
  p.chunks = chunks_of(a);
  p.states = static_cast<uint8_t*>(workspace);
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  p.next_tile = reinterpret_cast<unsigned*>(p.states + prepared_bytes(a));
#endif
  if (p.chunks > 0) {
    if (cudaFuncSetAttribute(attention_forward_states, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             sizeof(StateShared)) != cudaSuccess ||
        !launch(attention_forward_states, p.batch * kHeadsQ * kStateBlocks, kStateThreads,
                sizeof(StateShared), stream, map_k, map_v, p)) {
      return ATTENTION_LAUNCH_FAILED;
    }
#if ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  } else if (p.tiles > places &&
             !launch(attention_forward_prepare, 1, 32, 0, stream, p.next_tile)) {
    return ATTENTION_LAUNCH_FAILED;
#endif
  }
#elif ATTN_PERSISTENT && ATTN_LONGEST_FIRST
  p.next_tile = static_cast<unsigned*>(workspace);
  // Where each block has one tile, nobody asks for another.
  if (p.tiles > places && !launch(attention_forward_prepare, 1, 32, 0, stream, p.next_tile)) {
    return ATTENTION_LAUNCH_FAILED;
  }
#else
  (void)workspace;
#endif
#if ATTN_PERSISTENT
  const int blocks = p.tiles < places ? p.tiles : places;
#else
  const int blocks = p.tiles;
#endif
  if (cudaFuncSetAttribute(attention_forward_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           sizeof(Shared)) != cudaSuccess) {
    return ATTENTION_LAUNCH_FAILED;
  }
  const bool launched = launch(attention_forward_kernel, blocks, kThreads, sizeof(Shared), stream,
#if ATTN_BIAS
                               map_q, map_k, map_v, map_bias, map_o, p);
#else
                               map_q, map_k, map_v, map_o, p);
#endif
  return launched ? ATTENTION_OK : ATTENTION_LAUNCH_FAILED;
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
      return "a pointer is not aligned: q, k, v and o need 16 bytes";
    case ATTENTION_BAD_LENGTH:
      return "a batch or sequence length is negative, too large, or not the fixed one";
    case ATTENTION_BAD_HEADS:
      return "heads_q or heads_kv is not what the kernel was generated for";
    case ATTENTION_BAD_STRIDE:
      return "a stride is not a positive multiple of 8 elements";
    case ATTENTION_BAD_WORKSPACE:
      return "the workspace is null";
    case ATTENTION_BAD_DEVICE:
      return "the current device is not of compute capability 9.0";
    case ATTENTION_LAUNCH_FAILED:
      return "the launch failed";
  }
  return "unknown status";
}

}  // extern "C"
