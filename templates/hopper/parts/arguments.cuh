// The arguments of a call: what is wrong with them, and what the kernel is told.
#pragma once

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// Of rows, keys and tiles: what lies a tile behind them, or a grid, is still an int.
constexpr int64_t kMost = INT32_MAX - UINT16_MAX;

#if ATTN_VARLEN
// Every sequence may end in a tile that is not full.
int64_t most_tiles(const attention_forward_args& args) {
#if ATTN_PACKED_HEADS
  return (args.total_q * kGroupRows / kTileQ + args.batch) * kTilesBeside;
#else
  return (args.total_q / kTileQ + args.batch) * kTilesBeside;
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
  return most_tiles(args) > kMost ? ATTENTION_BAD_LENGTH : ATTENTION_OK;
}

attention_status check_sequences(const attention_forward_args& args) {
  if (!args.cu_seqlens_q || !args.cu_seqlens_kv) return ATTENTION_NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(args.cu_seqlens_q) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.cu_seqlens_kv) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
  return ATTENTION_OK;
}
#else
int64_t tiles_per_head(const attention_forward_args& args) { return tiles_of(args.seq_q); }

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
#if ATTN_PACKED_HEADS
  if (args.seq_q > kMost / kGroupRows || args.batch > kMost / kHeadsQ) return ATTENTION_BAD_LENGTH;
#endif
  const int64_t tiles = tiles_per_head(args);
  const bool fits = tiles == 0 || args.batch <= kMost / kTilesBeside / tiles;
  return fits ? ATTENTION_OK : ATTENTION_BAD_LENGTH;
}
#endif

#if ATTN_SPARSE
attention_status check_blocks(const attention_forward_args& args, bool any_key) {
#if ATTN_VARLEN && ATTN_CELLS_Q
  if (args.max_seq_q < 0 || args.max_seq_q > kMost) return ATTENTION_BAD_LENGTH;
#endif
#if ATTN_VARLEN && ATTN_CELLS_KV
  if (args.max_seq_kv < 0 || args.max_seq_kv > kMost) return ATTENTION_BAD_LENGTH;
#endif
#if ATTN_SKIP && ATTN_VARLEN
  if (args.total_kv / kTileKv > INT32_MAX >> Visit::kShift) return ATTENTION_BAD_LENGTH;
#elif ATTN_SKIP
  if (args.seq_kv / kTileKv > INT32_MAX >> Visit::kShift) return ATTENTION_BAD_LENGTH;
#endif
#if ATTN_SPARSE_BITMAP
  return any_key && !args.block_mask ? ATTENTION_NULL_POINTER : ATTENTION_OK;
#else
  if (any_key && (!args.block_counts || !args.block_indices)) return ATTENTION_NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(args.block_counts) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.block_indices) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
  return ATTENTION_OK;
#endif
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

#if ATTN_LIST_ROOM
attention_status check_tokens(const attention_forward_args& args, bool any_key) {
  if (any_key && (!args.token_counts || !args.token_indices)) return ATTENTION_NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(args.token_counts) % 4 != 0 ||
      reinterpret_cast<uintptr_t>(args.token_indices) % 4 != 0) {
    return ATTENTION_MISALIGNED;
  }
  return ATTENTION_OK;
}
#endif

attention_status check_args(const attention_forward_args& args) {
  if (args.heads_q != kHeadsQ || args.heads_kv != kHeadsKv) return ATTENTION_BAD_HEADS;
  if (const attention_status status = check_lengths(args); status != ATTENTION_OK) return status;
#if ATTN_VARLEN
  if (const attention_status status = check_sequences(args); status != ATTENTION_OK) return status;
#endif
#if ATTN_VARLEN
  const bool any_key = args.total_kv > 0;
#else
  const bool any_key = args.seq_kv > 0;
#endif
#if ATTN_SPARSE
  if (const attention_status status = check_blocks(args, any_key); status != ATTENTION_OK) {
    return status;
  }
#endif
#if ATTN_LIST_ROOM
  if (const attention_status status = check_tokens(args, any_key); status != ATTENTION_OK) {
    return status;
  }
#endif
#if ATTN_PAGE_SIZE
  const attention_status status = check_pages(args, any_key);
  if (status != ATTENTION_OK) return status;
#endif
#if ATTN_SHARE_KV
  if (!args.q || !args.o || (any_key && !args.k)) return ATTENTION_NULL_POINTER;
  if (!aligned(args.q) || !aligned(args.k) || !aligned(args.o)) return ATTENTION_MISALIGNED;
#else
  if (!args.q || !args.o || (any_key && (!args.k || !args.v))) return ATTENTION_NULL_POINTER;
  if (!aligned(args.q) || !aligned(args.k) || !aligned(args.v) || !aligned(args.o)) {
    return ATTENTION_MISALIGNED;
  }
#endif
  return check_pointers(args);
}

#if ATTN_SPLIT_KEYS
#if ATTN_VARLEN
// How long each sequence is, only the GPU knows: it shares out as many splits as these would have,
// if all were as long as the mean (blocks_of_split).
struct EvenCall {
  int64_t batch, seq_q, seq_kv;
};

EvenCall even_call(const attention_forward_args& args) {
  const auto mean = [&](int64_t total) { return (total + args.batch - 1) / args.batch; };
  return {args.batch, mean(args.total_q), mean(args.total_kv)};
}

int64_t tiles_per_head(const EvenCall& args) { return tiles_of(args.seq_q); }

#endif
#if ATTN_EARLY_JOINS
bool joins_early(const attention_forward_args& args) {
  return args.batch * ATTN_JOINED_HEADS * args.seq_q <= kMostEarlyRows;
}

#endif
// In how many splits a call visits the keys of its tiles: as many as end it first. Time is counted
// in keys that a tile visits. So many are as long as the ends of a tile, and as the kernel that
// joins splits; a split more makes that longer by kEach and by one for every kPartRows rows.
#if ATTN_EARLY_JOINS
// Early joins come later by kCrowded where few places are free for them.
#endif
#if ATTN_SHORT_ROWS
// Tiles have more keys the later their rows come, and the longest begin first: a call ends with its
// longest, or when all are shared out.
#elif (ATTN_MASKED && !ATTN_EVEN_ROWS) || ATTN_SPARSE
// Tiles have at most so many keys, and how many is not known here: with more than one for each
// place they stay whole.
#else
// Tiles are as long as one another, and run in waves.
#endif
//
// It is the number for the GPU that the kernel was generated for, so that a call puts out the same
// bits on another.
#if ATTN_VARLEN
int splits_of(const EvenCall& args) {
#else
int splits_of(const attention_forward_args& args) {
#endif
  constexpr int64_t kMostTiles = ATTN_SPLIT_MOST_TURNS * kPlaces;
  constexpr int64_t kEnds = ATTN_SPLIT_ENDS;
  constexpr int64_t kJoining = ATTN_SPLIT_JOINING;
  constexpr int64_t kEach = ATTN_SPLIT_EACH;
  constexpr int64_t kPartRows = ATTN_SPLIT_PART_VALUES / ATTN_PART_COLUMNS;
#if ATTN_EARLY_JOINS
  constexpr int64_t kCrowded = ATTN_SPLIT_CROWDED;
  constexpr int64_t kRoomy = kPlaces * ATTN_SPLIT_ROOMY_SIXTHS / 6;
#endif
  const int64_t tiles = tiles_per_head(args) * kTilesBeside * args.batch;
#if ATTN_VARLEN
  if (args.batch > kFewSequences) return 1;
#endif
  if (tiles > kMostTiles / 2) return 1;
#if ATTN_TOKENS
  const int64_t keys = min(args.seq_kv, int64_t{kListRoom});
#endif
#if ATTN_ROW_SPAN
  const int64_t keys = min(args.seq_kv, int64_t{ATTN_ROW_SPAN + kTileQ});
#endif
#if !ATTN_TOKENS && !ATTN_ROW_SPAN
  const int64_t keys = args.seq_kv;
#endif
  const int64_t blocks = (keys + kTileKv - 1) / kTileKv;
#if ATTN_SHORT_ROWS
  const int64_t mean = keys - min(args.seq_q, keys) / 2;
#endif
#if ATTN_MAPS > 1
  const int64_t each = kEach + args.batch * ATTN_JOINED_HEADS * kMaps * args.seq_q / kPartRows;
#else
  const int64_t each = kEach + args.batch * ATTN_JOINED_HEADS * args.seq_q / kPartRows;
#endif
#if ATTN_EARLY_JOINS
  const bool early = joins_early(args);
#endif
  int64_t best = 1, least = INT64_MAX;
  for (int64_t splits = 1; splits <= max(blocks, int64_t{1}) && splits * tiles <= kMostTiles;
       ++splits) {
    const int64_t longest = (blocks + splits - 1) / splits * kTileKv + kEnds;
#if ATTN_SHORT_ROWS
    const int64_t shared_out = tiles * (mean + splits * kEnds) / kPlaces;
    const int64_t visiting = max(longest, shared_out);
#else
    const int64_t visiting = (splits * tiles + kPlaces - 1) / kPlaces * longest;
#endif
#if ATTN_EARLY_JOINS
    const int64_t crowded = early && splits * tiles > kRoomy ? kCrowded : 0;
    const int64_t joining = kJoining + splits * each + crowded;
#else
    const int64_t joining = kJoining + splits * each;
#endif
    const int64_t time = splits > 1 ? visiting + joining : visiting;
    if (time < least) {
      best = splits;
      least = time;
    }
  }
  return static_cast<int>(best);
}

#if ATTN_VARLEN
// Whether a longer sequence may have splits in a call whose mean sequence has none: one of few rows
// that is so long that the kernel behind the main one costs little beside it.
bool may_be_uneven(const EvenCall& args) {
  constexpr int64_t kMostTiles = ATTN_SPLIT_UNEVEN_TURNS * kPlaces;
  constexpr int64_t kMostRows = ATTN_SPLIT_UNEVEN_ROWS;
  constexpr int64_t kLeastKeys = ATTN_SPLIT_UNEVEN_KEYS;  // for each place
  if (args.batch == 1 || args.batch > kFewSequences) return false;
  if (args.batch * args.seq_q * ATTN_JOINED_HEADS > kMostRows) return false;
  const int64_t tiles = tiles_per_head(args) * kTilesBeside * args.batch;
#if ATTN_TOKENS
  const int64_t keys = min(args.seq_kv, int64_t{kListRoom});
  return tiles <= kMostTiles && tiles * keys >= kPlaces * kLeastKeys;
#else
  return tiles <= kMostTiles && tiles * args.seq_kv >= kPlaces * kLeastKeys;
#endif
}

// Of each head, that the workspace has places for.
int64_t most_parts(const attention_forward_args& args) {
  const EvenCall even = even_call(args);
  const int splits = splits_of(even);
#if ATTN_MAPS > 1
  return splits > 1 || may_be_uneven(even) ? args.total_q * kMaps * max(splits, 2) : 0;
#else
  return splits > 1 || may_be_uneven(even) ? args.total_q * max(splits, 2) : 0;
#endif
}

#endif
#endif
#if ATTN_SCAN
// Whether blocks go along heads, a chunk of queries and keys at a time.
bool scans(const attention_forward_args& args) {
  constexpr int kFewestScans = ATTN_FEWEST_SCANS, kFewestScanRows = ATTN_FEWEST_SCAN_ROWS;
  constexpr int kWave = ATTN_SCAN_WAVE;  // blocks that run at a time
  const int64_t blocks = args.batch * kHeadsQ * kScanParts, waves = (blocks + kWave - 1) / kWave;
  return args.seq_q == args.seq_kv && args.seq_q >= kFewestScanRows &&
         blocks >= waves * kFewestScans;
}

#endif
#if ATTN_FAR
// Chunks of keys whose states are worth a kernel of their own.
int chunks_of(const attention_forward_args& args) {
#if ATTN_VARLEN
  // As many as one sequence would have: several have no more.
  if (args.total_q < kFewestQueries || args.total_kv <= 0 || args.total_kv > kMost) return 0;
  return static_cast<int>(args.total_kv / kChunkKeys);
#else
#if ATTN_SCAN
  if (scans(args)) return 0;
#endif
  if (args.seq_q < kFewestQueries || args.seq_kv <= 0 || args.seq_kv > kMost) return 0;
#if ATTN_MASKED
  return static_cast<int>((args.seq_kv - 1) / kChunkKeys);  // no tile has the last key behind it
#else
  return static_cast<int>(args.seq_kv / kChunkKeys);
#endif
#endif
}

#endif
Params params_of(const attention_forward_args& args) {
  Params p{};
  p.batch = static_cast<int>(args.batch);
#if ATTN_VARLEN
  p.total_q = static_cast<int>(args.total_q);
  p.total_kv = static_cast<int>(args.total_kv);
  p.tiles = static_cast<int>(most_tiles(args));
#if ATTN_SPLIT_KEYS
  p.splits = splits_of(even_call(args));
  p.most_parts = static_cast<int>(most_parts(args));
  p.may_split = p.most_parts > 0;
  if (p.splits > 1) {
    p.tiles *= p.splits;  // few: as many as even sequences have, and at most one more for each
  } else if (p.may_split) {
    p.tiles += kPlaces;
  }
#endif
#if ATTN_FAR
  p.chunks = chunks_of(args);
#endif
  p.cu_seqlens_q = args.cu_seqlens_q;
  p.cu_seqlens_kv = args.cu_seqlens_kv;
#else
  p.seq_q = static_cast<int>(args.seq_q);
  p.seq_kv = static_cast<int>(args.seq_kv);
  p.tiles_per_head = static_cast<int>(tiles_per_head(args));
#if ATTN_FAR
  p.chunks = chunks_of(args);
#endif
#if ATTN_PARTS_IN_TURN
  // One sum over far keys serves all parts; where no keys are far, more tiles keep more cores busy.
  p.parts_apart = p.chunks > 0 ? 1 : kValueParts;
  p.tiles = p.tiles_per_head * kHeadsQ * p.parts_apart * p.batch;
#else
  p.tiles = p.tiles_per_head * kTilesBeside * p.batch;
#endif
#if ATTN_SPLIT_KEYS
  p.splits = splits_of(args);
  p.tiles *= p.splits;
#endif
#if ATTN_SPARSE
  p.cells_q = (p.seq_q + kCellQueries - 1) / kCellQueries;
  p.cells_kv = (p.seq_kv + kCellKeys - 1) / kCellKeys;
#endif
#endif
#if ATTN_VARLEN && ATTN_CELLS_Q
  p.cells_q = static_cast<int>((args.max_seq_q + kCellQueries - 1) / kCellQueries);
#endif
#if ATTN_VARLEN && ATTN_CELLS_KV
  p.cells_kv = static_cast<int>((args.max_seq_kv + kCellKeys - 1) / kCellKeys);
#endif
#if ATTN_SPARSE
#if ATTN_SPARSE_BITMAP
  p.block_mask = args.block_mask;
#else
  p.block_counts = args.block_counts;
  p.block_indices = args.block_indices;
#endif
#endif
#if ATTN_PAGE_SIZE
  p.page_table = args.page_table;
  p.page_table_stride = args.page_table_stride;
#if ATTN_VARLEN
  if (p.page_table_stride == 0) p.page_table_stride = (p.total_kv + kPageSize - 1) / kPageSize;
#else
  if (p.page_table_stride == 0) p.page_table_stride = (p.seq_kv + kPageSize - 1) / kPageSize;
#endif
  const bool has_room_for_all = p.page_table_stride > kMost / kPageSize;
  p.page_table_keys = static_cast<int>(has_room_for_all ? kMost : p.page_table_stride * kPageSize);
#if ATTN_ROW_BY_ROW
  p.pages = static_cast<int>(args.num_pages);
#endif
#endif
#if ATTN_LIST_ROOM
  p.token_counts = args.token_counts;
  p.token_indices = args.token_indices;
#endif
  p.inputs = inputs_of(args);
  p.saves = saves_of(args);
  return p;
}
