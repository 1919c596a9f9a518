// What a call prepares: the order of tiles, and places in the workspace.
#pragma once
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN

#if ATTN_SHORT_ROWS
// How many rows of tiles every head leaves for the end, where rows have few keys. A section of h
// heads hands out h tiles of each length. Once they are shorter than `places` / h steps they shrink
// faster than they are handed out: cores end one after the other, and if the section's last rows
// are left out, R of them, wait for h (places / h - R)^2 / 4 steps in all. The R rows of all H
// heads have H R^2 / 2 steps for them. None, if these are more than `most`.
int short_rows(int64_t places, int64_t h, int64_t all, int64_t most) {
  int64_t rows = 0;
  while (rows <= most && h * rows < places &&
         2 * all * h * rows * rows < (places - h * rows) * (places - h * rows)) {
    ++rows;
  }
  return rows <= most ? static_cast<int>(rows) : 0;
}

#endif
// Tiles come in sections of heads whose keys and values, 16 MB, have a third of the L2.
#if ATTN_ROW_SPAN
// That is, what tiles use at a time: kRowSpan keys at most each, while some three rows of tiles are
// at work.
#endif
#if !ATTN_SPARSE
// In the last section short tiles fill what long ones leave of the time: it has two tiles for each
// place of a block, as far as 24 MB of keys and values go, and the heads that the sections before
// cannot share out evenly.
#endif
void place_sections(Params& p, const attention_forward_args& args,
#if ATTN_SPARSE
                    int) {
#else
                    int places) {
#endif
  constexpr int64_t kSectionBytes = 16 << 20;
#if ATTN_HEAD_PARTS > 1
  constexpr int kHeads = kHeadParts;  // tiles of a row, on the same keys
#elif ATTN_PACKED_HEADS
  constexpr int kHeads = 1;
#else
  constexpr int kHeads = kGroup;  // of queries, on the same keys
#endif
#if ATTN_ROW_SPAN
  constexpr int64_t kRowSpan = ATTN_ROW_SPAN;
  const int64_t keys = min(args.seq_kv, kRowSpan + 3 * kTileQ);
#else
  const int64_t keys = args.seq_kv;
#endif
  const int64_t all = args.batch * kHeadsKv, head_bytes = max(keys, int64_t{1}) * kPairBytes;
  const int64_t usual = max(kSectionBytes / head_bytes, int64_t{1});
#if ATTN_SPARSE
  p.last_section = static_cast<int>((all - 1) / usual);
  p.section_heads = static_cast<int>(min(usual, all)) * kHeads;
#else
  constexpr int64_t kLastBytes = 24 << 20;
  const int64_t most = max(kLastBytes / head_bytes, int64_t{1});
  const int64_t tiles = int64_t{p.tiles_per_head} * kHeads;
  const int64_t last = min(max((2 * places + tiles - 1) / tiles, usual), most);
  const int64_t before = max(all - last, int64_t{0});
  p.last_section = static_cast<int>((before + usual - 1) / usual);
  p.section_heads = static_cast<int>(before > 0 ? before / p.last_section : all) * kHeads;
#if ATTN_SHORT_ROWS
  // Their keys are to share the L2 too: those of a causal mask.
  const int64_t ahead = max(args.seq_kv - args.seq_q, int64_t{0});
#if ATTN_PACKED_HEADS
  const int64_t fit = (kLastBytes / (all * kPairBytes) - ahead) * kGroupRows / kTileQ;
#else
  const int64_t fit = (kLastBytes / (all * kPairBytes) - ahead) / kTileQ;
#endif
  const int64_t in_last = all * kHeads - int64_t{p.last_section} * p.section_heads;
  const int64_t most_rows = min(fit, int64_t{p.tiles_per_head});
#if ATTN_PARTS_IN_TURN
  p.short_rows = short_rows(places / p.parts_apart, in_last, all * kHeads, most_rows);
#elif ATTN_VALUE_PARTS > 1
  p.short_rows = short_rows(places / kValueParts, in_last, all * kHeads, most_rows);
#else
  p.short_rows = short_rows(places, in_last, all * kHeads, most_rows);
#endif
#endif
#endif
#if ATTN_SHORT_ROWS
  p.section_tiles = p.section_heads * (p.tiles_per_head - p.short_rows);
#else
  p.section_tiles = p.section_heads * p.tiles_per_head;
#endif
}
#endif
#if (ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS) && !ATTN_VARLEN

// Of the output, for those who write it without TMA.
void place_output(Params& p, const attention_forward_args& args, const Tensor& o) {
  p.o = static_cast<uint8_t*>(args.o);
  p.o_stride_batch = o.strides.batch;
  p.o_stride_seq = o.strides.seq;
  p.o_stride_head = o.strides.head;
}
#endif
#if ATTN_SPLIT_KEYS

// Bytes of what splits leave, or none for a call that is refused.
size_t split_bytes(const attention_forward_args& args) {
  const auto in_range = [](int64_t n) { return n > 0 && n <= kMost; };
#if ATTN_VARLEN
  if (!in_range(args.batch) || !in_range(args.total_q) || !in_range(args.total_kv)) return 0;
  if (check_lengths(args) != ATTENTION_OK) return 0;
  return static_cast<size_t>(ATTN_JOINED_HEADS * most_parts(args)) * sizeof(Part);
#else
  if (!in_range(args.batch) || !in_range(args.seq_q) || !in_range(args.seq_kv)) return 0;
  if (check_lengths(args) != ATTENTION_OK) return 0;
  const int splits = splits_of(args);
  if (splits == 1) return 0;
#if ATTN_MAPS > 1
  const int64_t rows = args.batch * ATTN_JOINED_HEADS * kMaps * args.seq_q;
#else
  const int64_t rows = args.batch * ATTN_JOINED_HEADS * args.seq_q;
#endif
  return static_cast<size_t>(rows) * splits * sizeof(Part);
#endif
}

#if !ATTN_VARLEN
// Gives the splits' parts their places.
#if ATTN_COUNTER
// The tiles' counter comes behind.
#endif
void place_parts(Params& p, const attention_forward_args& args, void* place) {
  p.parts = static_cast<Part*>(place);
  p.joins_early = joins_early(args);
#if ATTN_COUNTER
  p.counter = reinterpret_cast<Counter*>(static_cast<uint8_t*>(place) + split_bytes(args));
#endif
  p.call = call_number();
}

#endif
#if ATTN_VARLEN
// By the kernel behind the main one. Of splits that are as many as the mean's a warp has one.
bool join_splits(const Params& p, cudaStream_t stream) {
  constexpr int kMostBlocks = 1024;
  const int warps = p.splits > 1 ? min(p.splits, kMostJoinWarps) : kMostJoinWarps;
  const int rows = ATTN_JOINED_HEADS * p.total_q;
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  return launch(attention_forward_join, blocks, 32 * warps, 0, stream, p);
}
#else
// By the kernel behind the main one. A warp has two splits, if there are warps enough.
bool join_splits(const Params& p, cudaStream_t stream) {
  const int warps = min((p.splits + kPartsAtOnce - 1) / kPartsAtOnce, kMostJoinWarps);
  const int rows = p.batch * ATTN_JOINED_HEADS * p.seq_q;
  return launch(attention_forward_join, rows, 32 * warps, 0, stream, p);
}
#endif
#endif
#if ATTN_ID_TABLES

// Bytes of the tables, or none for a call that is refused. They begin the workspace.
size_t prepared_bytes(const attention_forward_args& args) {
  const auto in_range = [](int64_t n) { return n > 0 && n <= kMost; };
#if ATTN_VARLEN
  if (!in_range(args.batch) || !in_range(args.total_q) || !in_range(args.total_kv)) return 0;
#else
  if (!in_range(args.batch) || !in_range(args.seq_q) || !in_range(args.seq_kv) ||
      args.batch > INT32_MAX / kHeadsQ) {
    return 0;
  }
#endif
#if ATTN_MASK_BITS
  constexpr double kEntry = sizeof(int4) + kMaskBytes, kMostBytes = 0x1p62;
  const double bytes = kEntry * table_entries<double>(args);
  return static_cast<size_t>(bytes < kMostBytes ? bytes : kMostBytes);
#else
  size_t bytes = 0;
  for (int table = 0; table < kIdTables; ++table)
    bytes += sizeof(int4) * table_entries(table, args);
  return bytes;
#endif
}

#if ATTN_MASK_BITS
// Gives the table and the bits their places. Returns how many blocks of the kernel that fills them
// are worth while.
int place_tables(Params& p, void* workspace, int cores) {
  constexpr int kMostPerCore = 2048 / kTableThreads;
  const auto entries = table_entries<int64_t>(p);
  p.inputs.attn_tables[0] = static_cast<int4*>(workspace);
  p.inputs.attn_mask_bits = reinterpret_cast<uint4*>(p.inputs.attn_tables[0] + entries);
  const int64_t most = int64_t{cores} * kMostPerCore;
#if ATTN_LISTS_AS_MASK
  const int64_t wanted = stretches(p);
#else
  const int64_t wanted = entries;
#endif
  return static_cast<int>(wanted < 1 ? 1 : wanted < most ? wanted : most);
}
#else
// Gives each table its place. Returns how many blocks of the kernel that fills them are worth
// while.
int place_tables(Params& p, void* workspace, int cores) {
  constexpr int kWarps = kTableThreads / 32, kMostPerCore = 2048 / kTableThreads;
  int4* place = static_cast<int4*>(workspace);
  int64_t blocks = 1;
  for (int table = 0; table < kIdTables; ++table) {
    p.inputs.attn_tables[table] = place;
    const int64_t entries = table_entries(table, p);
    place += entries;
    if (entries > blocks * kWarps) blocks = (entries + kWarps - 1) / kWarps;
  }
  const int64_t most = int64_t{cores} * kMostPerCore;
  return static_cast<int>(blocks < most ? blocks : most);
}
#endif
#if !ATTN_VARLEN

// By the kernel before the main one.
bool fill_tables(Params& p, const attention_forward_args& args, void* workspace,
                 const Device& device, cudaStream_t stream) {
  const int blocks = place_tables(p, workspace, device.cores);
#if ATTN_TILES_COUNTED && ATTN_SPLIT_KEYS
  p.next_tile = reinterpret_cast<unsigned*>(static_cast<uint8_t*>(workspace) +
                                            prepared_bytes(args) + split_bytes(args));
#elif ATTN_TILES_COUNTED
  p.next_tile =
      reinterpret_cast<unsigned*>(static_cast<uint8_t*>(workspace) + prepared_bytes(args));
#endif
#if ATTN_LISTS_AS_MASK
  const int kv_blocks = (p.seq_kv + kTileKv - 1) / kTileKv;
  const size_t bits = size_t{4} * kBlockStride * min(kv_blocks, kBlocksAtOnce);
  return cudaFuncSetAttribute(attention_forward_prepare,
                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                              4 * kBlockStride * kBlocksAtOnce) == cudaSuccess &&
         launch(attention_forward_prepare, blocks, kTableThreads, bits, stream, p);
#else
  return launch(attention_forward_prepare, blocks, kTableThreads, 0, stream, p);
#endif
}
#endif
#endif
#if ATTN_FAR

// States, or none for a call that is refused. They begin the workspace.
int64_t states_of(const attention_forward_args& args) {
  constexpr int64_t kMostStates = (int64_t{1} << 61) / kStateBytes;  // more than any memory holds
#if ATTN_VARLEN
  if (args.batch <= 0) return 0;
  const int64_t states = int64_t{chunks_of(args)} * kHeadsQ;
#else
  if (args.batch <= 0 || args.batch > INT32_MAX / kHeadsQ) return 0;
  const int64_t states = chunks_of(args) * args.batch * kHeadsQ;
#endif
  return states < kMostStates ? states : kMostStates;
}

#if ATTN_KEY_WEIGHTS
// Of them and, behind them, of their units, to the next 16 bytes.
size_t prepared_bytes(const attention_forward_args& args) {
  const int64_t states = states_of(args);
  return states * kStateBytes + (states * sizeof(float) + 15) / 16 * 16;
}
#else
size_t prepared_bytes(const attention_forward_args& args) { return states_of(args) * kStateBytes; }
#endif
#endif
#if ATTN_VARLEN

// Sequences in the order of their lengths, by the kernel before the main one.
#if ATTN_ID_TABLES
bool place_sequences(Params& p, const attention_forward_args& args, const Tensor& o,
                     void* workspace, const Device& device, cudaStream_t stream) {
#else
bool place_sequences(Params& p, const attention_forward_args& args, const Tensor& o,
                     void* workspace, cudaStream_t stream) {
#endif
  p.o = static_cast<uint8_t*>(args.o);
  p.o_stride_seq = o.strides.seq;
  p.o_stride_head = o.strides.head;
#if ATTN_ID_TABLES
  const int blocks = kSortingBlocks + place_tables(p, workspace, device.cores);
#endif
#if ATTN_ID_TABLES || ATTN_FAR
  uint8_t* place = static_cast<uint8_t*>(workspace) + prepared_bytes(args);
#else
  uint8_t* place = static_cast<uint8_t*>(workspace);
#endif
#if ATTN_SPLIT_KEYS
  p.parts = reinterpret_cast<Part*>(place);
  place += split_bytes(args);
#endif
  p.sequences = reinterpret_cast<Sequence*>(place);
  p.tile_count = reinterpret_cast<int*>(p.sequences + p.batch);
#if ATTN_TILES_COUNTED
  p.next_tile = reinterpret_cast<unsigned*>(p.tile_count + 1);
#endif
#if ATTN_SPLIT_KEYS
  p.any_split = p.tile_count + 2;
#endif
#if ATTN_ID_TABLES
  return launch(attention_forward_prepare, blocks, kSortThreads, 0, stream, p);
#else
  return launch(attention_forward_prepare, 1, kSortThreads, 0, stream, p);
#endif
}
#endif

#if ATTN_FAR

// By the kernel before the main one, if any.
#if ATTN_COUNTER || ATTN_KEY_WEIGHTS
bool sum_states(Params& p, const attention_forward_args& args, const TensorMaps& maps,
                void* workspace, cudaStream_t stream) {
#else
bool sum_states(Params& p, const attention_forward_args&, const TensorMaps& maps, void* workspace,
                cudaStream_t stream) {
#endif
  p.states = static_cast<uint8_t*>(workspace);
#if ATTN_KEY_WEIGHTS
  p.units = reinterpret_cast<float*>(p.states + states_of(args) * kStateBytes);
#endif
#if ATTN_COUNTER
  p.counter = reinterpret_cast<Counter*>(p.states + prepared_bytes(args));
  p.call = call_number();
#endif
  if (p.chunks == 0) return true;
#if ATTN_VARLEN
  // At a time: no more than may have states, nor than keep all cores busy.
  constexpr int kBusy = 1024 / (kHeadsQ * kStateBlocks) + 1;
  const int sequences = min(min(p.batch, p.total_q / kFewestQueries), kBusy);
#else
  const int sequences = p.batch;
#endif
  return cudaFuncSetAttribute(attention_forward_states, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              sizeof(StateShared)) == cudaSuccess &&
         launch(attention_forward_states, sequences * kHeadsQ * kStateBlocks, kStateThreads,
                sizeof(StateShared), stream, maps, p);
}
#endif
#if ATTN_SCAN

// In the place of that kernel and of the main one.
bool scan(const Params& p, const TensorMaps& maps, const Device& device, cudaStream_t stream) {
  const int scans = p.batch * kHeadsQ * kScanParts;
  return cudaFuncSetAttribute(attention_forward_scan, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              sizeof(ScanShared)) == cudaSuccess &&
         launch(attention_forward_scan, min(scans, device.cores), kScanThreads, sizeof(ScanShared),
                stream, maps, p);
}
#endif
