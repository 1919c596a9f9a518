// The C entry points. Nothing is allocated or synchronised.
#pragma once

extern "C" {

#if ATTN_VARLEN
size_t attention_forward_workspace(const attention_forward_args* args) {
  const int64_t batch = args && args->batch > 0 ? args->batch : 0;
  const size_t sorted = static_cast<size_t>(batch) * sizeof(Sequence) + 2 * sizeof(int);
#if ATTN_ID_TABLES
  return (args ? prepared_bytes(*args) : 0) + sorted;
#else
  return sorted;
#endif
}
#elif ATTN_ID_TABLES || ATTN_FAR
size_t attention_forward_workspace(const attention_forward_args* args) {
  const size_t prepared = args ? prepared_bytes(*args) : 0;
#if ATTN_COUNTER
  return prepared + sizeof(Counter);
#elif ATTN_TILES_COUNTED
  return prepared + sizeof(unsigned);  // the counter that hands out tiles
#else
  return prepared;
#endif
}
#else
size_t attention_forward_workspace(const attention_forward_args*) {
#if ATTN_COUNTER
  return sizeof(Counter);
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
#if ATTN_TILES_COUNTED
  if (!workspace) return ATTENTION_BAD_WORKSPACE;
#elif ATTN_ID_TABLES || ATTN_FAR
  if (!workspace && prepared_bytes(*args) > 0) return ATTENTION_BAD_WORKSPACE;
#endif
#if ATTN_TILES_COUNTED || ATTN_ID_TABLES || ATTN_FAR
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
  // Asked for again if it was not there: a call may come before the driver can answer.
  static thread_local EncodeTiled encoder = nullptr;
  if (!encoder) encoder = find_encoder();
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
#if ATTN_ID_TABLES
  const int prepare_blocks = kSortingBlocks + place_tables(p, workspace, cores);
  p.sequences = reinterpret_cast<Sequence*>(static_cast<uint8_t*>(workspace) + prepared_bytes(a));
#else
  constexpr int prepare_blocks = 1;
  p.sequences = static_cast<Sequence*>(workspace);
#endif
  p.tile_count = reinterpret_cast<int*>(p.sequences + p.batch);
  p.next_tile = reinterpret_cast<unsigned*>(p.tile_count + 1);
  if (!launch(attention_forward_prepare, prepare_blocks, kSortThreads, 0, stream, p)) {
    return ATTENTION_LAUNCH_FAILED;
  }
#elif ATTN_ID_TABLES
  const int prepare_blocks = place_tables(p, workspace, cores);
#if ATTN_TILES_COUNTED
  p.next_tile =
      reinterpret_cast<unsigned*>(static_cast<uint8_t*>(workspace) + prepared_bytes(*args));
#endif
  if (!launch(attention_forward_prepare, prepare_blocks, kTableThreads, 0, stream, p)) {
    return ATTENTION_LAUNCH_FAILED;
  }
#elif ATTN_FAR
  p.chunks = chunks_of(a);
  p.states = static_cast<uint8_t*>(workspace);
#if ATTN_COUNTER
  p.counter = reinterpret_cast<Counter*>(p.states + prepared_bytes(a));
  p.call = call_number();
#endif
  if (p.chunks > 0) {
    if (cudaFuncSetAttribute(attention_forward_states, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             sizeof(StateShared)) != cudaSuccess ||
        !launch(attention_forward_states, p.batch * kHeadsQ * kStateBlocks, kStateThreads,
                sizeof(StateShared), stream, map_k, map_v, p)) {
      return ATTENTION_LAUNCH_FAILED;
    }
  }
#elif ATTN_COUNTER
  p.counter = static_cast<Counter*>(workspace);
  p.call = call_number();
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
      return "a pointer is not aligned: q, k, v, o, workspace to 16 bytes, others to their element";
    case ATTENTION_BAD_LENGTH:
      return "a batch or sequence length is negative, not the fixed one, or beyond 32-bit indices";
    case ATTENTION_BAD_HEADS:
      return "heads_q or heads_kv is not what the kernel was generated for";
    case ATTENTION_BAD_STRIDE:
      return "a stride is not a positive multiple of 8 elements, or too large";
    case ATTENTION_BAD_WORKSPACE:
      return "the workspace is null";
    case ATTENTION_BAD_DEVICE:
      return "not a device of compute capability 9.0, or too old a driver";
    case ATTENTION_LAUNCH_FAILED:
      return "the launch failed";
  }
  return "unknown status";
}

}  // extern "C"
