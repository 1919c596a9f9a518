// The arguments of a call: what is wrong with them, and what the kernel is told.
#pragma once

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

// Of rows, keys and tiles: what lies a tile behind them, or a grid, is still an int.
constexpr int64_t kMost = INT32_MAX - UINT16_MAX;

attention_status check_args(const attention_forward_args& args) {
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
  return check_pointers(args);
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
