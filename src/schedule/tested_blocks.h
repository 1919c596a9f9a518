// Which blocks of keys a tile visits where the kernel asks of each one: a mask with gaps.
#pragma once

#include <cstdint>

#include "attention/tiles.h"
#include "schedule/rows.h"

namespace attngen::schedule {

// A tile's queries, ends included, and the keys that it may need.
struct TilePlace {
  int64_t q_first = 0, q_last = 0;
  RowKeys keys;
};

// Whether it compares ids of queries with ids of keys, both in no order: these are taken to come in
// stretches of kStretch.
bool compares_ids(const attention::BlockTest& test);

// Blocks that are kept, and of these those that need no mask. What an input holds is not known: a
// block that it decides counts as the share that is taken to be kept. Where a test asks for a head
// or a batch, the block is kept, and cut. Of very many blocks some stand for their neighbours, so
// that the counts need not be whole.
struct TestedBlocks {
  double full = 0, partial = 0;
};
TestedBlocks tested_blocks(const attention::BlockTest& test, const TilePlace& place, int64_t seq_q,
                           int64_t seq_kv, int tile_kv);

}  // namespace attngen::schedule
