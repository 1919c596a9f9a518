// The C entry points. Nothing is allocated or synchronised.
#pragma once

extern "C" {

#if ATTN_VARLEN
size_t attention_forward_workspace(const attention_forward_args* args) {
  const int64_t batch = args && args->batch > 0 ? args->batch : 0;
#if ATTN_ID_TABLES && ATTN_SPLIT_KEYS
  const size_t sorted = static_cast<size_t>(batch) * sizeof(Sequence) + 3 * sizeof(int);
  return (args ? prepared_bytes(*args) + split_bytes(*args) : 0) + sorted;
#elif ATTN_SPLIT_KEYS
  const size_t sorted = static_cast<size_t>(batch) * sizeof(Sequence) + 3 * sizeof(int);
  return (args ? split_bytes(*args) : 0) + sorted;
#elif ATTN_ID_TABLES || ATTN_FAR
  const size_t sorted = static_cast<size_t>(batch) * sizeof(Sequence) + 2 * sizeof(int);
  return (args ? prepared_bytes(*args) : 0) + sorted;
#else
  return static_cast<size_t>(batch) * sizeof(Sequence) + 2 * sizeof(int);
#endif
}
#elif ATTN_ID_TABLES || ATTN_FAR || ATTN_SPLIT_KEYS
size_t attention_forward_workspace(const attention_forward_args* args) {
#if !ATTN_TILES_COUNTED && ATTN_ID_TABLES && ATTN_SPLIT_KEYS
  return args ? prepared_bytes(*args) + split_bytes(*args) : 0;
#elif !ATTN_TILES_COUNTED && ATTN_SPLIT_KEYS
  return args ? split_bytes(*args) : 0;
#elif !ATTN_TILES_COUNTED
  return args ? prepared_bytes(*args) : 0;
#else
#if ATTN_ID_TABLES && ATTN_SPLIT_KEYS
  const size_t prepared = args ? prepared_bytes(*args) + split_bytes(*args) : 0;
#elif ATTN_SPLIT_KEYS
  const size_t prepared = args ? split_bytes(*args) : 0;
#else
  const size_t prepared = args ? prepared_bytes(*args) : 0;
#endif
#if ATTN_COUNTER
  return prepared + sizeof(Counter);
#else
  return prepared + sizeof(unsigned);  // the counter that hands out tiles
#endif
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

attention_status attention_forward(const attention_forward_args* args,
#if ATTN_VARLEN || ATTN_TILES_COUNTED || ATTN_ID_TABLES || ATTN_FAR || ATTN_SPLIT_KEYS
                                   void* workspace,
#else
                                   void*,
#endif
                                   void* stream_handle) {
  if (!args) return ATTENTION_NULL_POINTER;
  if (args->size != sizeof(attention_forward_args)) return ATTENTION_BAD_ARGS_SIZE;
#if ATTN_VARLEN
  if (args->batch == 0 || args->total_q == 0) return ATTENTION_OK;
#else
  if (args->batch == 0 || args->seq_q == 0) return ATTENTION_OK;
#endif
  attention_status status = check_args(*args);
  if (status != ATTENTION_OK) return status;
#if ATTN_VARLEN || ATTN_TILES_COUNTED
  if (!workspace) return ATTENTION_BAD_WORKSPACE;
#elif ATTN_SPLIT_KEYS
  if (!workspace && attention_forward_workspace(args) > 0) return ATTENTION_BAD_WORKSPACE;
#elif ATTN_ID_TABLES || ATTN_FAR
  if (!workspace && prepared_bytes(*args) > 0) return ATTENTION_BAD_WORKSPACE;
#endif
#if ATTN_VARLEN || ATTN_TILES_COUNTED || ATTN_ID_TABLES || ATTN_FAR || ATTN_SPLIT_KEYS
  if (!aligned(workspace)) return ATTENTION_MISALIGNED;
#endif
  const Tensors tensors = tensors_of(*args);
  if (!valid_strides(tensors)) return ATTENTION_BAD_STRIDE;
#if ATTN_ROW_BY_ROW && ATTN_SHARE_KV
  if (!has_places(tensors.k)) return ATTENTION_BAD_STRIDE;
#elif ATTN_ROW_BY_ROW
  if (!has_places(tensors.k) || !has_places(tensors.v)) return ATTENTION_BAD_STRIDE;
#endif

  Device device;
  TensorMaps maps;
  Params p = params_of(*args);
#if ATTN_BIAS_SHIFTED
  auto* const kernel = attention_forward_kernel<BiasLayout::kElements>;
#elif ATTN_BIAS
  const BiasLayout biases = bias_layout_of(p);
  auto* const kernel = forward_kernel_of(biases);
#endif
#if ATTN_BIAS
  status = find_device(device, kernel);
#else
  status = find_device(device);
#endif
  if (status == ATTENTION_OK) status = encode(device.encoder, maps, tensors);
#if ATTN_BIAS && !ATTN_BIAS_SHIFTED
  if (status == ATTENTION_OK) {
    // Of rows that warps copy the map is never read: any will do.
    const Tensor mapped = copies_biases(biases) ? tensors.q : bias_of(p);
    status = encode(device.encoder, maps.bias, mapped);
  }
#endif
  if (status != ATTENTION_OK) return status;
#if ATTN_PERSISTENT || ATTN_LONGEST_FIRST
  const int places = device.cores * kBlocksPerCore;
#endif
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN
  place_sections(p, *args, places);
#endif
#if (ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS) && !ATTN_VARLEN
  place_output(p, *args, tensors.o);
#endif
#if ATTN_ROW_BY_ROW
  p.k = rows_of(tensors.k);
#if !ATTN_SHARE_KV
  p.v = rows_of(tensors.v);
#endif
#endif
#if ATTN_RANKED
  p.first_ranked = first_ranked(p.tiles, places);
#endif

  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
#if ATTN_VARLEN && ATTN_ID_TABLES
  if (!place_sequences(p, *args, tensors.o, workspace, device, stream)) {
    return ATTENTION_LAUNCH_FAILED;
  }
#elif ATTN_VARLEN
  if (!place_sequences(p, *args, tensors.o, workspace, stream)) return ATTENTION_LAUNCH_FAILED;
#if ATTN_FAR
  if (!sum_states(p, *args, maps, workspace, stream)) return ATTENTION_LAUNCH_FAILED;
#endif
#elif ATTN_ID_TABLES
#if ATTN_SPLIT_KEYS
  place_parts(p, *args, static_cast<uint8_t*>(workspace) + prepared_bytes(*args));
#endif
  if (!fill_tables(p, *args, workspace, device, stream)) return ATTENTION_LAUNCH_FAILED;
#elif ATTN_FAR
#if ATTN_SCAN
  if (scans(*args)) return scan(p, maps, device, stream) ? ATTENTION_OK : ATTENTION_LAUNCH_FAILED;
#endif
  if (!sum_states(p, *args, maps, workspace, stream)) return ATTENTION_LAUNCH_FAILED;
#elif ATTN_SPLIT_KEYS
  place_parts(p, *args, workspace);
#elif ATTN_COUNTER
  p.counter = static_cast<Counter*>(workspace);
  p.call = call_number();
#endif
#if ATTN_PERSISTENT
  const int blocks = p.tiles < places ? p.tiles : places;
#else
  const int blocks = p.tiles;
#endif
#if ATTN_BIAS
  const bool launched = launch(kernel, blocks, kThreads, sizeof(Shared), stream, maps, p);
#else
  const bool launched =
      launch(attention_forward_kernel, blocks, kThreads, sizeof(Shared), stream, maps, p);
#endif
#if ATTN_SPLIT_KEYS
  const bool joined = launched && (!joins_splits(p) || join_splits(p, stream));
  return joined ? ATTENTION_OK : ATTENTION_LAUNCH_FAILED;
#else
  return launched ? ATTENTION_OK : ATTENTION_LAUNCH_FAILED;
#endif
}

const char* attention_status_string(attention_status status) {
  switch (status) {
    case ATTENTION_OK:
      return "ok";
    case ATTENTION_BAD_ARGS_SIZE:
      return "args.size is not the size of the argument struct";
    case ATTENTION_NULL_POINTER:
      return "a required pointer is null";
#if ATTN_SHARE_KV
    case ATTENTION_MISALIGNED:
      return "a pointer is not aligned: q, k, o, workspace to 16 bytes, others as documented";
#else
    case ATTENTION_MISALIGNED:
      return "a pointer is not aligned: q, k, v, o, workspace to 16 bytes, others as documented";
#endif
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
