#if ATTN_MAPS > 1 || ATTN_SIDES > 1
// The grid: which kTileQ query rows of which head a block works on, and in what order.
#else
// The grid: which 64 * kWarpgroups query rows of which head a block works on, and in what order.
#endif
#pragma once

#if ATTN_VARLEN
// A sequence of the packed tensors, and where its tiles stand in the order of the grid.
struct __align__(16) Sequence {
  int first_tile, section_heads;
  int b, q_begin, kv_begin, seq_q, seq_kv;
#if ATTN_SPLIT_KEYS
  int splits, first_part;  // of each tile; of each head's
#endif
};
#endif

#if ATTN_ROW_BY_ROW
// Keys or values, as they are read row by row.
constexpr int kPlaceBytes = 16;  // that one copy takes, at a multiple of so many
struct Rows {
  const uint8_t* data;
#if ATTN_PAGE_SIZE || ATTN_VARLEN
  int64_t stride_head;  // in bytes
#else
  int64_t stride_batch, stride_head;  // in bytes
#endif
#if ATTN_PAGE_SIZE
  // In copies.
  int stride_page, stride_seq;
#else
  // In copies.
  int stride_seq;
#endif
};

#endif
struct Params {
#if ATTN_VARLEN
  int batch, total_q, total_kv;
  const int32_t *cu_seqlens_q, *cu_seqlens_kv;  // [batch + 1]
  uint8_t* o;
  int64_t o_stride_seq, o_stride_head;  // in elements
  Sequence* sequences;                  // [batch], the longest first
  int* tile_count;                      // of the whole call
  int tiles;                            // at most
#if ATTN_SPLIT_KEYS
  int splits;      // of a tile's keys, if all sequences are as long as the mean
  bool may_split;  // whether some sequence may be
  int* any_split;  // whether some is
  int most_parts;  // of each head, that there are places for
#if ATTN_MAPS > 1
  // Of each sequence that is split [heads, seq_q, maps, splits].
#else
  // Of each sequence that is split [heads, seq_q, splits].
#endif
  Part* parts;
#endif
#else
  int batch, seq_q, seq_kv;
  int tiles_per_head;
  int tiles;  // of the whole call
#endif
#if ATTN_SPLIT_KEYS && !ATTN_VARLEN
  int splits;        // of a tile's keys; 1: a tile has them all
  bool joins_early;  // each row for itself, while the kernel runs
#if ATTN_MAPS > 1
  // [batch, heads, seq_q, maps, splits]
#else
  // [batch, heads, seq_q, splits]
#endif
  Part* parts;
#endif
#if (ATTN_SPLIT_KEYS || ATTN_PADDED_HEADS) && !ATTN_VARLEN
  uint8_t* o;
  int64_t o_stride_batch, o_stride_seq, o_stride_head;  // in elements
#endif
#if ATTN_LONGEST_FIRST && !ATTN_VARLEN
  int section_heads;  // heads whose keys and values share the L2
  int section_tiles;  // of theirs
  int last_section;   // has all heads that are left
#if ATTN_SHORT_ROWS
  int short_rows;  // of tiles of each head, that come after all sections
#endif
#endif
#if ATTN_RANKED
  int first_ranked;  // tile
#endif
#if ATTN_COUNTER
  Counter* counter;
#elif ATTN_TILES_COUNTED
  // How many tiles beyond the first of each block were handed out.
  unsigned* next_tile;
#endif
#if ATTN_COUNTER || ATTN_EARLY_JOINS
  uint64_t call;  // its number
#endif
#if ATTN_CELLS_Q && ATTN_CELLS_KV
  int cells_q, cells_kv;  // of kCellQueries queries and kCellKeys keys
#elif ATTN_CELLS_Q
  int cells_q;  // of kCellQueries queries
#elif ATTN_CELLS_KV
  int cells_kv;  // of kCellKeys keys
#endif
#if ATTN_SPARSE
#if ATTN_SPARSE_BITMAP && !ATTN_CELLS_Q
  const uint8_t* block_mask;  // [kCellHeads, total_q, cells_kv]
#elif ATTN_SPARSE_BITMAP
  const uint8_t* block_mask;  // [batch, kCellHeads, cells_q, cells_kv]
#elif !ATTN_CELLS_Q
  const int32_t* block_counts;   // [kCellHeads, total_q]
  const int32_t* block_indices;  // [kCellHeads, total_q, list_room]
#else
  const int32_t* block_counts;   // [batch, kCellHeads, cells_q]
  const int32_t* block_indices;  // [batch, kCellHeads, cells_q, list_room]
#endif
#endif
#if ATTN_PAGE_SIZE
  const int32_t* page_table;  // [batch, page_table_stride]
  int64_t page_table_stride;
  int page_table_keys;  // of which it has room for entries
#if ATTN_ROW_BY_ROW
  int pages;  // of the cache
#endif
#endif
#if ATTN_LIST_ROOM
#if ATTN_VARLEN
  // Of each query [kHeadsKv, total_q].
#else
  // Of each query [batch, kHeadsKv, seq_q].
#endif
  const int32_t* token_counts;   // keys of its list
  const int32_t* token_indices;  // which: kListRoom places
#endif
#if ATTN_ROW_BY_ROW && ATTN_SHARE_KV
  Rows k;
#elif ATTN_ROW_BY_ROW
  Rows k, v;
#endif
#if ATTN_FAR
  int chunks;  // of keys, at whose ends there are states
#if ATTN_VARLEN
  uint8_t* states;  // [heads, chunks, kStateBytes]
#else
  uint8_t* states;  // [batch, heads, chunks, kStateBytes]
#endif
#if ATTN_KEY_WEIGHTS
  float* units;  // one for each
#endif
#if ATTN_PARTS_IN_TURN
  // Of the values, that have tiles of their own; 1: a tile has all of them in turn.
  int parts_apart;
#endif
#endif
  Inputs inputs;
  Saves saves;
};

#if ATTN_HEAD_PARTS > 1
// Of the tiles of the same rows, the first head of the i-th.
__device__ __forceinline__ int first_head_of(int i) {
  return i / kHeadParts * kGroup + i % kHeadParts * kPartHeads;
}
#if ATTN_PADDED_HEADS

// How many heads the tile has whose first is h.
__device__ __forceinline__ int heads_from(int h) { return min(kPartHeads, kGroup - h % kGroup); }
#endif

#endif
#if ATTN_PACKED_HEADS
// q_first counts a group's rows: row r is query r / kGroupRows of head h + r % kGroupRows.
#endif
struct __align__(16) Tile {
  int q_first, h, b;
#if ATTN_VALUE_PARTS > 1
  int part;  // of the values' columns
#endif
#if ATTN_SPLIT_KEYS
  int split;  // of the keys
#endif
#if ATTN_VARLEN
  int q_begin, kv_begin, seq_q, seq_kv;  // of its sequence
#if ATTN_SPLIT_KEYS
  int splits, first_part;
#endif
#endif
};

__device__ __forceinline__ Tile uniform(Tile tile) {
  tile.q_first = uniform(tile.q_first);
  tile.h = uniform(tile.h);
  tile.b = uniform(tile.b);
#if ATTN_VALUE_PARTS > 1
  tile.part = uniform(tile.part);
#endif
#if ATTN_SPLIT_KEYS
  tile.split = uniform(tile.split);
#endif
#if ATTN_VARLEN
  tile.q_begin = uniform(tile.q_begin);
  tile.kv_begin = uniform(tile.kv_begin);
  tile.seq_q = uniform(tile.seq_q);
  tile.seq_kv = uniform(tile.seq_kv);
#if ATTN_SPLIT_KEYS
  tile.splits = uniform(tile.splits);
  tile.first_part = uniform(tile.first_part);
#endif
#endif
  return tile;
}

#if ATTN_SEARCHED_LIMITS
__device__ __forceinline__ KeyRange uniform(KeyRange keys) {
  keys.begin = uniform(keys.begin);
  keys.end = uniform(keys.end);
  keys.full_begin = uniform(keys.full_begin);
  keys.full_end = uniform(keys.full_end);
  return keys;
}

#endif
// Where the 64 rows of a consumer warpgroup begin.
__device__ __forceinline__ int first_row_of(Tile tile, int warpgroup) {
#if ATTN_MAPS > 1
  return tile.q_first + 64 * (warpgroup / kMaps);
#else
  return tile.q_first + 64 * warpgroup;
#endif
}

// Query q_idx of head h as a row of scores.
#if ATTN_VARLEN
// `lengths`: its Sequence, or a tile of that.
template <typename Lengths>
__device__ __forceinline__ Row row_at(int b, int h, int q_idx, const Lengths& lengths) {
#else
__device__ __forceinline__ Row row_at(int b, int h, int q_idx, const Params& lengths) {
#endif
  Row row{};
  row.b = b;
  row.h = h;
  row.h_kv = h / kGroup;
  row.q_idx = q_idx;
  row.q_pos = q_idx + (lengths.seq_kv - lengths.seq_q);
  row.seq_q = lengths.seq_q;
  row.seq_kv = lengths.seq_kv;
#if ATTN_VARLEN
  row.q_begin = lengths.q_begin;
  row.kv_begin = lengths.kv_begin;
#endif
  return row;
}

#if !ATTN_VARLEN
__device__ __forceinline__ Tile tile_at(int index, const Params& p) {
#if ATTN_VALUE_PARTS > 1 && !ATTN_PARTS_IN_TURN
  const int part = index % kValueParts;  // the parts of a tile share its keys in the L2
  index /= kValueParts;
#endif
#if ATTN_PARTS_IN_TURN
  const int part = index % p.parts_apart;  // the parts of a tile share its keys in the L2
  index /= p.parts_apart;
#endif
#if ATTN_SPLIT_KEYS
  const int split = index % p.splits;
  index /= p.splits;
#endif
#if ATTN_LONGEST_FIRST
#if ATTN_FIRST_ROWS_LONGEST
  // Within a section the first rows of every head come first: the longer ones, if they differ.
#else
  // Within a section the last rows of every head come first: the longer ones, if they differ.
#endif
#if ATTN_PACKED_HEADS && ATTN_VALUE_PARTS > 1
  const int all = p.batch * kHeadTiles;
#elif ATTN_PACKED_HEADS
  const int all = p.batch * kTilesBeside;
#else
  const int all = p.batch * kHeadsQ;
#endif
#if ATTN_SHORT_ROWS
  const int rows = p.tiles_per_head - p.short_rows;
  const bool is_short = index >= all * rows;
  const int section = is_short ? 0 : min(index / p.section_tiles, p.last_section);
  const int first_head = section * p.section_heads;
  const int heads = is_short || section == p.last_section ? all - first_head : p.section_heads;
  const int rest = index - (is_short ? all : first_head) * rows;
  const int place = rest / heads + (is_short ? rows : 0);  // in the order of rows
#else
  const int section = min(index / p.section_tiles, p.last_section);
  const int first_head = section * p.section_heads;
  const int heads = section < p.last_section ? p.section_heads : all - first_head;
  const int rest = index - first_head * p.tiles_per_head;
  const int place = rest / heads;  // in the order of rows
#endif
  const int head = first_head + rest % heads;
#if ATTN_FIRST_ROWS_LONGEST
  const int row = place;
#else
  const int row = p.tiles_per_head - 1 - place;
#endif
#else
  const int head = index / p.tiles_per_head;
  const int row = index % p.tiles_per_head;
#endif
#if ATTN_BATCHES_SHARE
  // All batches read the same for a pair of a head, and come side by side.
#endif
#if ATTN_BATCHES_SHARE && ATTN_HEAD_PARTS > 1
  const int b = head % p.batch, h = first_head_of(head / p.batch);
#elif ATTN_BATCHES_SHARE && ATTN_PACKED_HEADS
  const int b = head % p.batch, h = head / p.batch * kGroup;
#elif ATTN_BATCHES_SHARE
  const int b = head / kGroup % p.batch;
  const int h = head / kGroup / p.batch * kGroup + head % kGroup;
#elif ATTN_HEAD_PARTS > 1 && ATTN_VALUE_PARTS > 1
  const int b = head / kHeadTiles, h = first_head_of(head % kHeadTiles);
#elif ATTN_HEAD_PARTS > 1
  const int b = head / kTilesBeside, h = first_head_of(head % kTilesBeside);
#elif ATTN_PACKED_HEADS
  const int b = head / kHeadsKv, h = head % kHeadsKv * kGroup;
#else
  const int b = head / kHeadsQ, h = head % kHeadsQ;
#endif
#if ATTN_VALUE_PARTS > 1 && ATTN_SPLIT_KEYS
  return {row * kTileQ, h, b, part, split};
#elif ATTN_VALUE_PARTS > 1
  return {row * kTileQ, h, b, part};
#elif ATTN_SPLIT_KEYS
  return {row * kTileQ, h, b, split};
#else
  return {row * kTileQ, h, b};
#endif
}
#endif

#if ATTN_TOKENS
// The blocks of keys that rows visit: so many entries of their list each, from its first on.
#elif ATTN_WALK
// The blocks of keys that rows may visit; those within the full range need no test.
#elif ATTN_ASCENDING
// The blocks of keys that rows visit, from begin on: there all tiles of a head meet, and the first
// who loads a block brings it to the L2 for the others. Those within the full range need no test.
#elif ATTN_NEAREST_FIRST
// The blocks of keys that rows visit: from their own down to begin, then from end - 1 down. Where
// scores fall with the distance the first block has a row's maximum. Those within the full range
// need no test.
#else
// The blocks of keys that rows visit, from end - 1 down; those within the full range need no test.
#endif
struct Blocks {
  int begin, end, full_begin, full_end;
#if ATTN_NEAREST_FIRST
  int own;  // of the last row's position, also where there is no key
#endif
#if ATTN_TOKENS
  __device__ __forceinline__ int before_first() const { return begin - 1; }
  __device__ __forceinline__ int first() const { return begin; }
  __device__ __forceinline__ bool has(int block) const { return block < end; }
  static __device__ __forceinline__ int after(int block) { return block + 1; }
#elif !ATTN_WALK
  __device__ __forceinline__ bool none() const { return end <= begin; }
#if ATTN_ASCENDING
  __device__ __forceinline__ int before_first() const { return begin - 1; }
  __device__ __forceinline__ int first() const { return begin; }
  __device__ __forceinline__ int last() const { return end - 1; }
  __device__ __forceinline__ bool has(int block) const { return block < end; }
  static __device__ __forceinline__ int after(int block) { return block + 1; }
#elif ATTN_NEAREST_FIRST
  __device__ __forceinline__ int count() const { return max(end - begin, 0); }
  __device__ __forceinline__ int before_first() const { return first() + 1; }
  __device__ __forceinline__ int first() const { return max(min(own, end - 1), begin); }
  __device__ __forceinline__ int last() const { return first() < end - 1 ? first() + 1 : begin; }
  __device__ __forceinline__ int after(int block) const {
    return (block > begin ? block : end) - 1;
  }
#else
  __device__ __forceinline__ int before_first() const { return end; }
  __device__ __forceinline__ int first() const { return end - 1; }
  __device__ __forceinline__ int last() const { return begin; }
  __device__ __forceinline__ bool has(int block) const { return block >= begin; }
  static __device__ __forceinline__ int after(int block) { return block - 1; }
#endif
#endif
#if !ATTN_BLOCK_TEST
  __device__ __forceinline__ bool is_full(int block) const {
    return block >= full_begin && block < full_end;
  }
#endif
};

#if ATTN_LIST_ROOM
struct List {
  const int32_t* keys;
  int count;
#if ATTN_VARLEN
  int seq_kv;  // keys that exist
#endif
};

// Of the query-th of all lists.
__device__ __forceinline__ List list_of(int64_t query, const Params& p) {
  return {p.token_indices + query * kListRoom,
          min(max(__ldg(&p.token_counts[query]), 0), kListRoom)};
}

#endif
#if ATTN_LIST_ROOM && !ATTN_VARLEN
// Of a query. Without a key there may be no lists.
__device__ __forceinline__ List list_of(int b, int h_kv, int q_idx, const Params& p) {
  if (p.seq_kv == 0) return {nullptr, 0};
  return list_of((int64_t{b} * kHeadsKv + h_kv) * p.seq_q + q_idx, p);
}
#endif
#if ATTN_TOKENS && ATTN_VARLEN
// Of a tile's query. Without a key there may be no lists.
__device__ __forceinline__ List list_of(const Tile& tile, const Params& p) {
  if (p.total_kv == 0) return {nullptr, 0};
  const int64_t query = tile.q_begin + tile.q_first / kGroupRows;
  List list = list_of(int64_t{tile.h / kGroup} * p.total_q + query, p);
  list.seq_kv = tile.seq_kv;
  return list;
}
#elif ATTN_TOKENS

// Of a tile's query.
__device__ __forceinline__ List list_of(const Tile& tile, const Params& p) {
  return list_of(tile.b, tile.h / kGroup, tile.q_first / kGroupRows, p);
}
#endif
#if ATTN_TOKENS

// Of the list of a tile's one query, by as many keys; none is full: an entry may be no key.
__device__ __forceinline__ Blocks blocks_of(const Tile& tile, int, int, const Params& p) {
  return {0, (list_of(tile, p).count + kTileKv - 1) / kTileKv, 0, 0};
}
#else
__device__ __forceinline__ Blocks blocks_of(const KeyRange& keys) {
  if (keys.end <= keys.begin) return {0, 0, 0, 0};
#if ATTN_GATHER
  return {keys.begin / kBlockKv, (keys.end + kBlockKv - 1) / kBlockKv,
          (keys.full_begin + kBlockKv - 1) / kBlockKv, keys.full_end / kBlockKv};
#else
  return {keys.begin / kTileKv, (keys.end + kTileKv - 1) / kTileKv,
          (keys.full_begin + kTileKv - 1) / kTileKv, keys.full_end / kTileKv};
#endif
}

// Of `rows` rows of a tile from q_first on; none for rows beyond the last.
__device__ __forceinline__ Blocks blocks_of(const Tile& tile, int q_first, int rows,
#if ATTN_SEARCHED_LIMITS
                                            KeyRange& keys,
#endif
                                            const Params& p) {
#if ATTN_PACKED_HEADS
  q_first /= kGroupRows;  // from rows to queries; the keys of a query do not depend on the head
  rows /= kGroupRows;
#endif
#if ATTN_VARLEN
  if (q_first >= tile.seq_q) return {0, 0, 0, 0};
  const int q_last = min(q_first + rows, tile.seq_q) - 1;
  const Row row = row_at(tile.b, tile.h, q_first, tile);
#else
  if (q_first >= p.seq_q) return {0, 0, 0, 0};
  const int q_last = min(q_first + rows, p.seq_q) - 1;
  const Row row = row_at(tile.b, tile.h, q_first, p);
#endif
#if ATTN_SEARCHED_LIMITS
  keys = key_range(q_first, q_last, row, p.inputs);
#else
  const KeyRange keys = key_range(q_first, q_last, row, p.inputs);
#endif
#if ATTN_NEAREST_FIRST
  Blocks blocks = blocks_of(keys);
  blocks.own = (row.q_pos + q_last - q_first) / kTileKv;
  return blocks;
#else
  return blocks_of(keys);
#endif
}
#endif

#if ATTN_TRIMMED
// What one warpgroup needs of the blocks that are loaded for its tile.
__device__ __forceinline__ Blocks trim(const Blocks& own, const Blocks& loaded) {
  const int end = min(max(own.end, loaded.begin), loaded.end);
  return {min(max(own.begin, loaded.begin), end), end, own.full_begin, own.full_end};
}
#endif
#if ATTN_SPLIT_KEYS

#if ATTN_VARLEN
// Whether a kernel behind the main one joins splits.
__host__ __device__ __forceinline__ bool joins_splits(const Params& p) { return p.may_split; }

// Of the tile's keys; 1: it has them all.
__device__ __forceinline__ int splits_of(const Tile& tile, const Params&) { return tile.splits; }

#if ATTN_VALUE_PARTS > 1
// From where the splits of a row leave their parts to where those of its values' next part do.
__device__ __forceinline__ int64_t value_part_stride(const Params& p) {
  return int64_t{kHeadsQ} * p.most_parts;
}

#endif
// Where the splits of a row leave their parts. `lengths`: its Sequence, or a tile of that.
template <typename Lengths>
__device__ __forceinline__ Part* parts_of(const Row& row, const Lengths& lengths, const Params& p) {
  const int64_t first = int64_t{lengths.first_part} * kHeadsQ;
#if ATTN_MAPS > 1
  const int64_t in_sequence = (int64_t{row.h} * row.seq_q + row.q_idx) * kMaps + row.map;
#else
  const int64_t in_sequence = int64_t{row.h} * row.seq_q + row.q_idx;
#endif
  return p.parts + first + in_sequence * lengths.splits;
}
#else
// Whether a kernel behind the main one joins splits.
__host__ __device__ __forceinline__ bool joins_splits(const Params& p) { return p.splits > 1; }

// Of the tile's keys; 1: it has them all.
__device__ __forceinline__ int splits_of(const Tile&, const Params& p) { return p.splits; }

#if ATTN_VALUE_PARTS > 1
// From where the splits of a row leave their parts to where those of its values' next part do.
__device__ __forceinline__ int64_t value_part_stride(const Params& p) {
  return int64_t{p.batch} * kHeadsQ * p.seq_q * p.splits;
}

#endif
// Where the splits of a row leave their parts.
__device__ __forceinline__ Part* parts_of(const Row& row, const Params& p) {
  const int64_t in_call = (int64_t{row.b} * kHeadsQ + row.h) * row.seq_q + row.q_idx;
#if ATTN_MAPS > 1
  return p.parts + (in_call * kMaps + row.map) * p.splits;
#else
  return p.parts + in_call * p.splits;
#endif
}
#endif

// Of the blocks that a tile's rows may visit those of its split.
__device__ __forceinline__ Blocks share_of(Blocks blocks, const Tile& tile, const Params& p) {
  const int splits = splits_of(tile, p);
  const int share = (blocks.end - blocks.begin + splits - 1) / splits;
  blocks.begin = min(blocks.begin + tile.split * share, blocks.end);
  blocks.end = min(blocks.begin + share, blocks.end);
  return blocks;
}
#endif
