#pragma once
#ifndef ATTN_BF16
// What the spec and the schedule decide: these values make the template compile by itself.
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
#ifndef ATTN_MAPS
#define ATTN_MAPS 1
#endif
#ifndef ATTN_LAYOUT_BHSD
#define ATTN_LAYOUT_BHSD 0
#endif
#ifndef ATTN_SCALE
#define ATTN_SCALE 0.088388346f
#endif
#ifndef ATTN_READS_SCALE
#define ATTN_READS_SCALE 1
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
#define ATTN_TILE_KV 128
#endif
#ifndef ATTN_WARPGROUPS
#define ATTN_WARPGROUPS 2
#endif
#ifndef ATTN_STAGES
#define ATTN_STAGES 2
#endif
#ifndef ATTN_WEIGHTS_SHARED
#define ATTN_WEIGHTS_SHARED 0
#endif
#ifndef ATTN_INTRA_OVERLAP
#define ATTN_INTRA_OVERLAP 1
#endif
#ifndef ATTN_PING_PONG
#define ATTN_PING_PONG 1
#endif
#ifndef ATTN_PERSISTENT
#define ATTN_PERSISTENT 1
#endif
#ifndef ATTN_LONGEST_FIRST
#define ATTN_LONGEST_FIRST 1
#endif
#ifndef ATTN_TILES_COUNTED
#define ATTN_TILES_COUNTED 1
#endif
#ifndef ATTN_FIRST_ROWS_LONGEST
#define ATTN_FIRST_ROWS_LONGEST 0
#endif
#ifndef ATTN_ROW_SPAN
#define ATTN_ROW_SPAN 0
#endif
#ifndef ATTN_SHORT_ROWS
#define ATTN_SHORT_ROWS 1
#endif
#ifndef ATTN_EVEN_ROWS
#define ATTN_EVEN_ROWS 0
#endif
#ifndef ATTN_PACKED_HEADS
#define ATTN_PACKED_HEADS 0
#endif
#ifndef ATTN_GROUP_ROWS
#define ATTN_GROUP_ROWS 1
#endif
#ifndef ATTN_PADDED_HEADS
#define ATTN_PADDED_HEADS 0
#endif
#ifndef ATTN_HEAD_PARTS
#define ATTN_HEAD_PARTS 1
#endif
#ifndef ATTN_PART_HEADS
#define ATTN_PART_HEADS 1
#endif
#ifndef ATTN_SPLIT_KEYS
#define ATTN_SPLIT_KEYS 0
#endif
#ifndef ATTN_EARLY_JOINS
#define ATTN_EARLY_JOINS (ATTN_SPLIT_KEYS && !ATTN_VARLEN)
#endif
#ifndef ATTN_SPLIT_MOST_TURNS
#define ATTN_SPLIT_MOST_TURNS 4
#endif
#ifndef ATTN_SPLIT_ENDS
#define ATTN_SPLIT_ENDS 256
#endif
#ifndef ATTN_SPLIT_JOINING
#define ATTN_SPLIT_JOINING 192
#endif
#ifndef ATTN_SPLIT_EACH
#define ATTN_SPLIT_EACH 8
#endif
#ifndef ATTN_SPLIT_PART_VALUES
#define ATTN_SPLIT_PART_VALUES 3840
#endif
#ifndef ATTN_FEW_SEQUENCES
#define ATTN_FEW_SEQUENCES 256
#endif
#ifndef ATTN_SPLIT_UNEVEN_TURNS
#define ATTN_SPLIT_UNEVEN_TURNS 16
#endif
#ifndef ATTN_SPLIT_UNEVEN_ROWS
#define ATTN_SPLIT_UNEVEN_ROWS 8192
#endif
#ifndef ATTN_SPLIT_UNEVEN_KEYS
#define ATTN_SPLIT_UNEVEN_KEYS 4096
#endif
#ifndef ATTN_SPLIT_CROWDED
#define ATTN_SPLIT_CROWDED 256
#endif
#ifndef ATTN_SPLIT_ROOMY_SIXTHS
#define ATTN_SPLIT_ROOMY_SIXTHS 5
#endif
#ifndef ATTN_MOST_EARLY_ROWS
#define ATTN_MOST_EARLY_ROWS 256
#endif
#ifndef ATTN_JOINED_HEADS
#define ATTN_JOINED_HEADS kHeadsQ
#endif
#ifndef ATTN_PLACES
#define ATTN_PLACES 132
#endif
#ifndef ATTN_TRIMMED
#define ATTN_TRIMMED 1
#endif
#ifndef ATTN_PRODUCER_REGISTERS
#define ATTN_PRODUCER_REGISTERS 24
#endif
#ifndef ATTN_CONSUMER_REGISTERS
#define ATTN_CONSUMER_REGISTERS 240
#endif
#ifndef ATTN_EXPONENTIAL
#define ATTN_EXPONENTIAL 1
#endif
#ifndef ATTN_FIXED_MAX
#define ATTN_FIXED_MAX 1
#endif
#ifndef ATTN_RECOMPUTE
#define ATTN_RECOMPUTE 1
#endif
#ifndef ATTN_POSITIVE_PART
#define ATTN_POSITIVE_PART 0
#endif
#ifndef ATTN_NEAR_LOGISTIC
#define ATTN_NEAR_LOGISTIC 0
#endif
#ifndef ATTN_NEAR_CAP
#define ATTN_NEAR_CAP 0
#endif
#ifndef ATTN_NEAR_LINEAR
#define ATTN_NEAR_LINEAR 1.0f
#endif
#ifndef ATTN_NEAR_CUBIC
#define ATTN_NEAR_CUBIC 0.0f
#endif
#ifndef ATTN_NEAR_HIGHEST
#define ATTN_NEAR_HIGHEST 8.0f
#endif
#ifndef ATTN_NEAR_ROOM
#define ATTN_NEAR_ROOM 256
#endif
#ifndef ATTN_QUERY_SHIFT
#define ATTN_QUERY_SHIFT 0
#endif
#ifndef ATTN_BLOCKS_PER_CORE
#define ATTN_BLOCKS_PER_CORE 1
#endif
#ifndef ATTN_QUERY_STAGES
#define ATTN_QUERY_STAGES 2
#endif
#ifndef ATTN_LARGE_SCORES
#define ATTN_LARGE_SCORES 0
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
#ifndef ATTN_SEARCHED_LIMITS
#define ATTN_SEARCHED_LIMITS 0
#endif
#ifndef ATTN_LINES
#define ATTN_LINES 0
#endif
#ifndef ATTN_PLAIN_SCORE
#define ATTN_PLAIN_SCORE 1
#endif
#ifndef ATTN_MASKED
#define ATTN_MASKED 1
#endif
#ifndef ATTN_INTERVAL_MASK
#define ATTN_INTERVAL_MASK 1
#endif
#ifndef ATTN_MASK_AHEAD
#define ATTN_MASK_AHEAD 1
#endif
#ifndef ATTN_ASCENDING
#define ATTN_ASCENDING 1
#endif
#ifndef ATTN_NEAREST_FIRST
#define ATTN_NEAREST_FIRST 0
#endif
#ifndef ATTN_WALK
#define ATTN_WALK 0
#endif
#ifndef ATTN_BLOCK_TEST
#define ATTN_BLOCK_TEST 0
#endif
#ifndef ATTN_ID_TABLES
#define ATTN_ID_TABLES 0
#endif
#ifndef ATTN_PAIR_BYTES
#define ATTN_PAIR_BYTES 0
#endif
#ifndef ATTN_PAGE_SIZE
#define ATTN_PAGE_SIZE 0
#endif
#ifndef ATTN_PAGE_KEYS
#define ATTN_PAGE_KEYS ATTN_TILE_KV
#endif
#ifndef ATTN_PAGE_ROWS
#define ATTN_PAGE_ROWS 0
#endif
#ifndef ATTN_LIST_ROOM
#define ATTN_LIST_ROOM 0
#endif
#ifndef ATTN_LISTS_AS_MASK
#define ATTN_LISTS_AS_MASK 0
#endif
#ifndef ATTN_LISTED_BLOCKS
#define ATTN_LISTED_BLOCKS 16
#endif
#ifndef ATTN_TOKENS
#define ATTN_TOKENS 0
#endif
#ifndef ATTN_ROW_BY_ROW
#define ATTN_ROW_BY_ROW (ATTN_TOKENS || ATTN_PAGE_ROWS)
#endif
#ifndef ATTN_VALUES_APART
#define ATTN_VALUES_APART 0
#endif
#ifndef ATTN_CLEARS_VALUES
#if ATTN_VARLEN || (ATTN_PAGE_SIZE && !ATTN_ROW_BY_ROW)
#define ATTN_CLEARS_VALUES 1
#else
#define ATTN_CLEARS_VALUES 0
#endif
#endif
#ifndef ATTN_LISTED_KEYS
#define ATTN_LISTED_KEYS 0
#endif
#ifndef ATTN_TOKEN_MASK
#define ATTN_TOKEN_MASK 0
#endif
#ifndef ATTN_MASK_BITS
#define ATTN_MASK_BITS 0
#endif
#ifndef ATTN_ROW_FREE
#define ATTN_ROW_FREE 0
#endif
#ifndef ATTN_WEIGHTS_WAIT
#define ATTN_WEIGHTS_WAIT 0
#endif
#ifndef ATTN_SPARSE
#define ATTN_SPARSE 0
#endif
#ifndef ATTN_SPARSE_BITMAP
#define ATTN_SPARSE_BITMAP 0
#endif
#ifndef ATTN_SPARSE_SIZE
#define ATTN_SPARSE_SIZE 0
#endif
#ifndef ATTN_SPARSE_QUERIES
#define ATTN_SPARSE_QUERIES 0
#endif
#ifndef ATTN_SPARSE_MOST
#define ATTN_SPARSE_MOST 0
#endif
#ifndef ATTN_SPARSE_HEADS
#define ATTN_SPARSE_HEADS 0
#endif
#ifndef ATTN_CELLS_Q
#define ATTN_CELLS_Q 0
#endif
#ifndef ATTN_CELLS_KV
#define ATTN_CELLS_KV 0
#endif
#ifndef ATTN_CELL_ROWS
#define ATTN_CELL_ROWS 0
#endif
#ifndef ATTN_ROWS_DIFFER
#define ATTN_ROWS_DIFFER 0
#endif
#ifndef ATTN_SKIP
#define ATTN_SKIP 0
#endif
#ifndef ATTN_GATHER
#define ATTN_GATHER 0
#endif
#ifndef ATTN_SCOUT
#define ATTN_SCOUT 0
#endif
#ifndef ATTN_RANKED
#define ATTN_RANKED 0
#endif
#ifndef ATTN_VARLEN
#define ATTN_VARLEN 0
#endif
#ifndef ATTN_PACKED_SAVES
#define ATTN_PACKED_SAVES ATTN_VARLEN
#endif
#ifndef ATTN_VALUE_PARTS
#define ATTN_VALUE_PARTS 1
#endif
#ifndef ATTN_SHARE_KV
#define ATTN_SHARE_KV 0
#endif
#ifndef ATTN_SIDES
#define ATTN_SIDES 1
#endif
#ifndef ATTN_LISTS_AHEAD
#define ATTN_LISTS_AHEAD 0
#endif
#ifndef ATTN_WEIGHTS_IN_KEYS
#define ATTN_WEIGHTS_IN_KEYS 0
#endif
#ifndef ATTN_COPIED_KEYS
#if ATTN_PAGE_SIZE && !ATTN_ROW_BY_ROW
#define ATTN_COPIED_KEYS kCopiedKeys
#else
#define ATTN_COPIED_KEYS kTileKv
#endif
#endif
#ifndef ATTN_ROW_BLOCKS
#define ATTN_ROW_BLOCKS kWarpgroups
#endif
#ifndef ATTN_ROW_BLOCK
#define ATTN_ROW_BLOCK warpgroup
#endif
#ifndef ATTN_KEEPERS
#if ATTN_MAPS > 1
#define ATTN_KEEPERS kRowBlocks
#else
#define ATTN_KEEPERS kWarpgroups
#endif
#endif
#ifndef ATTN_KEEPER
#if ATTN_MAPS > 1
#define ATTN_KEEPER warpgroup / kMaps
#else
#define ATTN_KEEPER warpgroup
#endif
#endif
#ifndef ATTN_STORED_CHUNKS
#define ATTN_STORED_CHUNKS kChunksV
#endif
#ifndef ATTN_PART_COLUMNS
#define ATTN_PART_COLUMNS kHeadDimV
#endif
#ifndef ATTN_PARTS_IN_TURN
#define ATTN_PARTS_IN_TURN 0
#endif
#ifndef ATTN_BIAS
#define ATTN_BIAS 0
#endif
#ifndef ATTN_PREPARES
#define ATTN_PREPARES 0
#endif
#ifndef ATTN_COUNTER
#define ATTN_COUNTER 1
#endif
#ifndef ATTN_BIAS_GROUPED
#define ATTN_BIAS_GROUPED 0
#endif
#ifndef ATTN_BIAS_BYTES
#define ATTN_BIAS_BYTES 2
#endif
#ifndef ATTN_BIAS_SHIFTED
#define ATTN_BIAS_SHIFTED 0
#endif
#ifndef ATTN_BIAS_SLOPE
#define ATTN_BIAS_SLOPE 0
#endif
#ifndef ATTN_BIAS_FP16
#define ATTN_BIAS_FP16 0
#endif
#ifndef ATTN_SCORE_BIAS
#define ATTN_SCORE_BIAS 0
#endif
#ifndef ATTN_MASK_BIAS
#define ATTN_MASK_BIAS 0
#endif
#ifndef ATTN_ZERO_IS_MASKED
#define ATTN_ZERO_IS_MASKED 0
#endif
#ifndef ATTN_BATCHES_SHARE
#define ATTN_BATCHES_SHARE 0
#endif
#ifndef ATTN_MASK_LOADS
#define ATTN_MASK_LOADS 0
#endif
#ifndef ATTN_LEVEL
#define ATTN_LEVEL 0
#endif
#ifndef ATTN_LEVEL_UNIT
#define ATTN_LEVEL_UNIT 1
#endif
#ifndef ATTN_STRIPS
#define ATTN_STRIPS 0
#endif
#ifndef ATTN_VALUE_STRIPS
#define ATTN_VALUE_STRIPS 0
#endif
#ifndef ATTN_KEY_STRIPS
#define ATTN_KEY_STRIPS 0
#endif
#ifndef ATTN_STRIPS_BY_HEAD
#define ATTN_STRIPS_BY_HEAD 0
#endif
#ifndef ATTN_DISTANCE_STRIP
#define ATTN_DISTANCE_STRIP 0
#endif
#ifndef ATTN_KEY_VALUE
#define ATTN_KEY_VALUE float
#endif
#ifndef ATTN_DISTANCE_VALUE
#define ATTN_DISTANCE_VALUE float
#endif
#ifndef ATTN_FLOAT_STRIPS
#define ATTN_FLOAT_STRIPS 0
#endif
#ifndef ATTN_INT_STRIPS
#define ATTN_INT_STRIPS 0
#endif
#ifndef ATTN_KEY_WORDS
#define ATTN_KEY_WORDS 0
#endif
#ifndef ATTN_FAR
#define ATTN_FAR 0
#endif
#ifndef ATTN_FAR_SUMS
#define ATTN_FAR_SUMS 0
#endif
#ifndef ATTN_FAR_MAY_FALL
#define ATTN_FAR_MAY_FALL 0
#endif
#ifndef ATTN_KEY_SUMS
#define ATTN_KEY_SUMS 0
#endif
#ifndef ATTN_FAR_COUNTS
#define ATTN_FAR_COUNTS 0
#endif
#ifndef ATTN_KEY_WEIGHTS
#define ATTN_KEY_WEIGHTS 0
#endif
#ifndef ATTN_KEY_FACTORS
#define ATTN_KEY_FACTORS 0
#endif
#ifndef ATTN_FAR_QUERIES
#define ATTN_FAR_QUERIES 1
#endif
#ifndef ATTN_STATE_COLUMNS
#define ATTN_STATE_COLUMNS 64
#endif
#ifndef ATTN_CHUNK_KEYS
#define ATTN_CHUNK_KEYS 256
#endif
#ifndef ATTN_QUERY_CONSTANTS
#define ATTN_QUERY_CONSTANTS 1
#endif
#ifndef ATTN_SCAN
#define ATTN_SCAN 0
#endif
#ifndef ATTN_FEWEST_SCANS
#define ATTN_FEWEST_SCANS 72
#endif
#ifndef ATTN_FEWEST_SCAN_ROWS
#define ATTN_FEWEST_SCAN_ROWS 1024
#endif
#ifndef ATTN_FEWEST_FAR_QUERIES
#define ATTN_FEWEST_FAR_QUERIES 2048
#endif
#ifndef ATTN_OUTPUT_DIM
#define ATTN_OUTPUT_DIM 128
#endif
#ifndef ATTN_OUTPUT_COLUMNS
#define ATTN_OUTPUT_COLUMNS 0
#endif
#ifndef ATTN_SCORE_COLUMN
#define ATTN_SCORE_COLUMN 0
#endif
#ifndef ATTN_DIVIDES_KEYS
#define ATTN_DIVIDES_KEYS 0
#endif
#ifndef ATTN_ODD_TABLES
#define ATTN_ODD_TABLES 0
#endif
#ifndef ATTN_TABLE_BYTES
#define ATTN_TABLE_BYTES 0
#endif
#ifndef ATTN_COLUMN_INPUTS
#define ATTN_COLUMN_INPUTS 0
#endif
