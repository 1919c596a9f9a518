// What the spec and the schedule decided.
#pragma once

constexpr int kHeadsQ = ATTN_HEADS_Q;
constexpr int kHeadsKv = ATTN_HEADS_KV;
#if ATTN_HEAD_PARTS > 1
// Query heads on the same keys. They share tiles, so that keys and values are read once for many: a
// tile has kPartHeads of them, the last one what is left, and each has a row of a query.
#elif ATTN_PACKED_HEADS
// The query heads of a key head share a tile, so that its keys and values are read once for all:
// with a group of 4, rows 0 to 3 are the four heads of query 0, rows 4 to 7 those of query 1.
#else
// Query heads on the same keys.
#endif
constexpr int kGroup = kHeadsQ / kHeadsKv;
#if ATTN_HEAD_PARTS > 1
constexpr int kHeadParts = ATTN_HEAD_PARTS;
constexpr int kPartHeads = ATTN_PART_HEADS;
#endif
#if ATTN_TOKENS
// A tile's rows, which are all of one query: those beyond its heads are void.
constexpr int kGroupRows = ATTN_GROUP_ROWS;
#elif ATTN_PADDED_HEADS
// A query's rows, so that 64 rows hold whole queries: those beyond its heads are void.
constexpr int kGroupRows = ATTN_GROUP_ROWS;
#elif ATTN_HEAD_PARTS > 1
constexpr int kGroupRows = kPartHeads;
#elif ATTN_PACKED_HEADS
constexpr int kGroupRows = kGroup;
#endif
constexpr int kHeadDimQk = ATTN_HEAD_DIM_QK;
constexpr int kHeadDimV = ATTN_HEAD_DIM_V;
#if ATTN_VALUE_PARTS > 1
// Values are wider than an accumulator: a tile has kHeadDimV of their columns.
constexpr int kOutputDim = ATTN_OUTPUT_DIM;
constexpr int kValueParts = ATTN_VALUE_PARTS;
#elif ATTN_SIDES > 1
// Values are wider than an accumulator: a consumer has kHeadDimV of their columns.
constexpr int kOutputDim = ATTN_OUTPUT_DIM;
#endif
#if ATTN_COLUMN_INPUTS
constexpr int kColumnInputs = ATTN_COLUMN_INPUTS;  // that the output reads in its own column
#endif
#if ATTN_READS_SCALE
constexpr float kScale = ATTN_SCALE;
#endif

#if ATTN_MAPS > 1
// Maps of scores over the same values. Of the consumers that share 64 query rows each takes a map:
// warpgroup w has map w % kMaps of row block w / kMaps.
constexpr int kMaps = ATTN_MAPS;
constexpr int kWarpgroups = ATTN_WARPGROUPS;  // consumers
constexpr int kRowBlocks = kWarpgroups / kMaps;
constexpr int kTileQ = 64 * kRowBlocks;
#elif ATTN_SIDES > 1
// Sides of the output's columns. Of the consumers that share 64 query rows each takes one:
// warpgroup w has side w % kSides of row block w / kSides.
constexpr int kSides = ATTN_SIDES;
constexpr int kWarpgroups = ATTN_WARPGROUPS;  // consumers
constexpr int kRowBlocks = kWarpgroups / kSides;
constexpr int kTileQ = 64 * kRowBlocks;
#else
constexpr int kWarpgroups = ATTN_WARPGROUPS;  // consumers; each owns 64 query rows
constexpr int kTileQ = 64 * kWarpgroups;
#endif
#if ATTN_PACKED_HEADS && ATTN_VALUE_PARTS > 1
#if ATTN_HEAD_PARTS > 1
constexpr int kHeadTiles = kHeadsKv * kHeadParts;  // of the same rows and columns
#else
constexpr int kHeadTiles = kHeadsKv;  // of the same rows and columns: one for each key head
#endif
constexpr int kTilesBeside = kHeadTiles * kValueParts;  // of the same rows
#elif ATTN_HEAD_PARTS > 1
constexpr int kTilesBeside = kHeadsKv * kHeadParts;  // of the same rows: one for each part
#elif ATTN_PACKED_HEADS
constexpr int kTilesBeside = kHeadsKv;  // of the same rows: one for each key head
#elif ATTN_VALUE_PARTS > 1
constexpr int kTilesBeside = kHeadsQ * kValueParts;  // of the same rows: of each head and part
#else
constexpr int kTilesBeside = kHeadsQ;  // of the same rows: one for each head
#endif
#if ATTN_SPARSE || ATTN_BLOCK_TEST || ATTN_TOKENS
#if ATTN_PACKED_HEADS
constexpr int kTileQueries = kTileQ / kGroupRows;
#else
constexpr int kTileQueries = kTileQ;
#endif
#endif
constexpr int kTileKv = ATTN_TILE_KV;            // keys per step
constexpr int kStages = ATTN_STAGES;             // of each ring of them
constexpr int kQueryStages = ATTN_QUERY_STAGES;  // 2: the next tile's load under this one's end
constexpr int kThreads = 128 * (kWarpgroups + 1);
constexpr int kBlocksPerCore = ATTN_BLOCKS_PER_CORE;
#if ATTN_LIST_ROOM
constexpr int kListRoom = ATTN_LIST_ROOM;  // keys of a query's list
#endif
#if ATTN_TOKENS
constexpr int kGatherers = 2;  // warps
#endif
#if ATTN_GATHER
constexpr int kBlockKv = ATTN_SPARSE_SIZE;  // a step takes two blocks, wherever they stand
#endif
#if ATTN_PAGE_SIZE
constexpr int kPageSize = ATTN_PAGE_SIZE;  // keys
#endif
#if ATTN_PAGE_SIZE && !ATTN_ROW_BY_ROW
constexpr int kCopiedKeys = ATTN_PAGE_KEYS;  // at a time: of a page, and of a block of keys
#endif

// Tiles in shared memory are cut into chunks as wide as the TMA swizzle spans: 64 columns (128
// bytes), or 32 where that pads less (head dims 80, 96, 160). Not so where rows begin at odd
// multiples of 16 bytes (72, 136): TMA takes as long for half of such a chunk as for the whole.
// Columns beyond the head dim it fills with zeros.
constexpr int chunk_columns(int columns) {
  const bool pads_less = (columns + 31) / 32 % 2 != 0;
  const bool odd_rows = columns > 32 && columns % 16 != 0;
  return pads_less && !odd_rows ? 32 : 64;
}
constexpr int kChunkQk = chunk_columns(kHeadDimQk);
#if ATTN_SHARE_KV
constexpr int kChunkV = kChunkQk;
#else
constexpr int kChunkV = chunk_columns(kHeadDimV);
#endif
constexpr int kChunksQk = (kHeadDimQk + kChunkQk - 1) / kChunkQk;
constexpr int kChunksV = (kHeadDimV + kChunkV - 1) / kChunkV;
#if ATTN_WEIGHTS_SHARED
constexpr int kChunkKv = chunk_columns(kTileKv);
constexpr int kChunksKv = (kTileKv + kChunkKv - 1) / kChunkKv;
#endif
#if ATTN_MASK_BITS
constexpr int kMaskWords = (kTileKv + 127) / 128 * 4;  // of a query's bits for a block of keys
#endif
#if ATTN_BIAS
constexpr int kBiasBytes = ATTN_BIAS_BYTES;
#if !ATTN_BIAS_SHIFTED
// An element of four bytes counts as two columns, one of a byte as half of one.
constexpr int kChunkBias = chunk_columns(kTileKv * kBiasBytes / 2);
constexpr int kChunksBias = (kTileKv * kBiasBytes / 2 + kChunkBias - 1) / kChunkBias;
#endif
#if ATTN_BIAS_BYTES == 4
using BiasElement = float;
#elif ATTN_BIAS_BYTES == 1
using BiasElement = uint8_t;
#else
using BiasElement = uint16_t;
#endif
#endif
constexpr int kStepsQk = (kHeadDimQk + 15) / 16;  // wgmma steps of 16 along the head dim
constexpr int kElementBytes = 2;
#if ATTN_VARLEN || ATTN_LONGEST_FIRST
// Of a key and its value.
#if ATTN_SHARE_KV
constexpr int kPairBytes = kHeadDimQk * kElementBytes;
#elif ATTN_MAPS > 1
constexpr int kPairBytes = (kMaps * kHeadDimQk + kHeadDimV) * kElementBytes;
#elif ATTN_VALUE_PARTS > 1
constexpr int kPairBytes = (kHeadDimQk + kOutputDim) * kElementBytes;
#else
constexpr int kPairBytes = (kHeadDimQk + kHeadDimV) * kElementBytes;
#endif
#endif

#if ATTN_PACKED_HEADS
// Tiles of so many queries of the heads that share them.
template <typename Number>
__host__ __device__ constexpr Number tiles_of(Number queries) {
  return (queries * kGroupRows + kTileQ - 1) / kTileQ;
}
#else
// Tiles of so many queries of a head.
template <typename Number>
__host__ __device__ constexpr Number tiles_of(Number queries) {
  return (queries + kTileQ - 1) / kTileQ;
}
#endif

// Bytes of a chunk of a tile of `rows` rows.
__host__ __device__ constexpr int chunk_bytes(int rows, int chunk) {
  return rows * chunk * kElementBytes;
}
