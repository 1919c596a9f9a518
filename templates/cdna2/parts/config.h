// What the spec and the schedule decided.
#pragma once
#ifndef ATTN_BF16
// These values make the template compile by itself.
#define ATTN_BF16 1
#endif
#ifndef ATTN_HEAD_DIM_QK
#define ATTN_HEAD_DIM_QK 128
#endif
#ifndef ATTN_HEAD_DIM_V
#define ATTN_HEAD_DIM_V 128
#endif
#ifndef ATTN_HEADS_Q
#define ATTN_HEADS_Q 32
#endif
#ifndef ATTN_HEADS_KV
#define ATTN_HEADS_KV 8
#endif
#ifndef ATTN_LAYOUT_BHSD
#define ATTN_LAYOUT_BHSD 0
#endif
#ifndef ATTN_SCALE
#define ATTN_SCALE 0.088388346f
#endif
#ifndef ATTN_VARLEN
#define ATTN_VARLEN 0
#endif
#ifndef ATTN_PAGE_SIZE
#define ATTN_PAGE_SIZE 0
#endif
#ifndef ATTN_PAGE_ROWS
#define ATTN_PAGE_ROWS 0
#endif
#ifndef ATTN_PACKED_SAVES
#define ATTN_PACKED_SAVES ATTN_VARLEN
#endif
#ifndef ATTN_SPARSE
#define ATTN_SPARSE 0
#endif
#ifndef ATTN_SPARSE_BITMAP
#define ATTN_SPARSE_BITMAP 1
#endif
#ifndef ATTN_SPARSE_SIZE
#define ATTN_SPARSE_SIZE 128
#endif
#ifndef ATTN_SPARSE_QUERIES
#define ATTN_SPARSE_QUERIES 128
#endif
#ifndef ATTN_SPARSE_HEADS
#define ATTN_SPARSE_HEADS kHeadsQ
#endif
#ifndef ATTN_SPARSE_MOST
#define ATTN_SPARSE_MOST 0
#endif
#ifndef ATTN_FIXED_BATCH
#define ATTN_FIXED_BATCH 0
#endif
#ifndef ATTN_FIXED_SEQ_Q
#define ATTN_FIXED_SEQ_Q 0
#endif
#ifndef ATTN_FIXED_SEQ_KV
#define ATTN_FIXED_SEQ_KV 0
#endif
#ifndef ATTN_TILE_KV
#define ATTN_TILE_KV 64
#endif
#ifndef ATTN_WAVES
#define ATTN_WAVES 4
#endif
#ifndef ATTN_WAVES_PER_SIMD
#define ATTN_WAVES_PER_SIMD 2
#endif
#ifndef ATTN_LONGEST_FIRST
#define ATTN_LONGEST_FIRST 1
#endif
#ifndef ATTN_FIRST_ROWS_LONGEST
#define ATTN_FIRST_ROWS_LONGEST 0
#endif
#ifndef ATTN_PACKED_HEADS
#define ATTN_PACKED_HEADS 0
#endif
#ifndef ATTN_HEAD_PARTS
#define ATTN_HEAD_PARTS 1
#endif
#ifndef ATTN_PART_HEADS
#define ATTN_PART_HEADS 1
#endif
#ifndef ATTN_GROUP_ROWS
#define ATTN_GROUP_ROWS 4
#endif
#ifndef ATTN_PADDED_HEADS
#define ATTN_PADDED_HEADS 0
#endif
#ifndef ATTN_EXPONENTIAL
#define ATTN_EXPONENTIAL 1
#endif
#ifndef ATTN_FIXED_MAX
#define ATTN_FIXED_MAX 1
#endif
#ifndef ATTN_PLAIN_SCORE
#define ATTN_PLAIN_SCORE 1
#endif
#ifndef ATTN_AFFINE_SCORE
#define ATTN_AFFINE_SCORE 0
#endif
#ifndef ATTN_EXPONENT_UNIT
#define ATTN_EXPONENT_UNIT 1.44269504f
#endif
#ifndef ATTN_ROW_CONSTANTS
#define ATTN_ROW_CONSTANTS 0
#endif
#ifndef ATTN_LINES
#define ATTN_LINES 0
#endif
#ifndef ATTN_INPUTS
#define ATTN_INPUTS 0
#endif
#ifndef ATTN_MASKED
#define ATTN_MASKED 1
#endif
#ifndef ATTN_INTERVAL_MASK
#define ATTN_INTERVAL_MASK 1
#endif
#ifndef ATTN_KEYS_FROM_FIRST
#define ATTN_KEYS_FROM_FIRST 1
#endif
#ifndef ATTN_CUT_LAST
#define ATTN_CUT_LAST 1
#endif
#ifndef ATTN_CUT_FIRST
#define ATTN_CUT_FIRST 0
#endif
#ifndef ATTN_ROW_FREE
#define ATTN_ROW_FREE 0
#endif
#ifndef ATTN_WEIGHTS_WAIT
#define ATTN_WEIGHTS_WAIT 0
#endif
#ifndef ATTN_OUTPUT_COLUMNS
#define ATTN_OUTPUT_COLUMNS 0
#endif
#ifndef ATTN_COLUMN_INPUTS
#define ATTN_COLUMN_INPUTS 0
#endif
#ifndef ATTN_READS_SCALE
#define ATTN_READS_SCALE 1
#endif
#ifndef ATTN_OTHER_HALF
#define ATTN_OTHER_HALF 1
#endif

constexpr int kHeadsQ = ATTN_HEADS_Q;
constexpr int kHeadsKv = ATTN_HEADS_KV;
#if ATTN_HEAD_PARTS > 1
// Query heads on the same keys. They share tiles, so that keys and values are read once for many: a
// tile has kPartHeads of them, the last one what is left, and each has a row of a query.
constexpr int kHeadParts = ATTN_HEAD_PARTS;
constexpr int kPartHeads = ATTN_PART_HEADS;
constexpr int kGroupRows = ATTN_GROUP_ROWS;
constexpr int kTilesBeside = kHeadsKv * kHeadParts;  // of the same rows
#elif ATTN_PACKED_HEADS
// The query heads of a key head share a tile, so that its keys and values are read once for all:
// row r is query r / kGroupRows of the group's head r % kGroupRows.
#if ATTN_PADDED_HEADS
// Those beyond the group's heads are void.
#endif
constexpr int kGroupRows = ATTN_GROUP_ROWS;
constexpr int kTilesBeside = kHeadsKv;  // of the same rows
#endif
constexpr int kHeadDimQk = ATTN_HEAD_DIM_QK;
constexpr int kHeadDimV = ATTN_HEAD_DIM_V;
#if ATTN_READS_SCALE
constexpr float kScale = ATTN_SCALE;
#endif

constexpr int kWaves = ATTN_WAVES;  // each owns 32 query rows
constexpr int kThreads = 64 * kWaves;
constexpr int kTileQ = 32 * kWaves;
constexpr int kTileKv = ATTN_TILE_KV;  // keys per step
#if ATTN_PAGE_SIZE
constexpr int kPageSize = ATTN_PAGE_SIZE;  // keys
#endif
constexpr int kElementBytes = 2;

// A matrix instruction multiplies 32 x 8 by 8 x 32. Two take one 16-byte chunk of each operand.
constexpr int kKeyBlocks = kTileKv / 32;              // of 32 keys
constexpr int kStepsQk = (kHeadDimQk + 15) / 16;      // of 16 columns of queries and keys
constexpr int kStepsKv = kTileKv / 16;                // of 16 keys of weights and values
constexpr int kOutputBlocks = (kHeadDimV + 31) / 32;  // of 32 columns of the output
