// How many blocks of keys each row of tiles visits.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/tiles.h"
#include "schedule/key_finder.h"

namespace attngen::schedule {

// Heads whose masks differ, `group` of them to a head of keys; one: the mask reads no head.
struct MaskHeads {
  int count = 1, group = 1;
};

// The tile rows of one head; where masks differ, of all heads in turn. Of very many rows some stand
// for their neighbours.
struct TileRows {
  std::vector<int64_t> first;  // the first query of a tile
  std::vector<Head> heads;     // whose mask it has, where they differ
  std::vector<RowKeys> keys;   // of all rows of a tile
  std::vector<RowKeys> parts;  // of each warpgroup's rows, tile by tile; empty beyond the last row
  int64_t count = 0;
  double stride = 1;  // rows of a head that each of `keys` stands for
};
// At most `most` rows are evaluated, as spread_sample has them, or one of each head. `tile_q` and
// `part_q` count queries, of a tile and of one warpgroup's 64 rows of it: as many as rows, unless
// heads are packed.
TileRows tile_rows(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv, int tile_q,
                   int64_t most, int part_q = 64, const MaskHeads& heads = {});

// Whether tiles have different numbers of keys.
bool uneven(const TileRows& rows);
// How far apart tiles' first keys are, and their last ones, of all keys that some tile visits: 0 of
// tiles with the same keys, 1 of a causal mask over its own tokens.
double spread_of(const TileRows& rows);
// Pairs of one head, by rows of one query, which has `most` of them at most.
double pairs_of(const TileRows& single, double most = std::numeric_limits<double>::infinity());

struct RowBlocks {
  int64_t full = 0, partial = 0;
};
RowBlocks blocks_of(const RowKeys& keys, int tile_kv);

}  // namespace attngen::schedule
