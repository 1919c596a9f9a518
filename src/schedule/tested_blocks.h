// Which blocks of keys a tile visits where the kernel asks of each one: a mask with gaps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/tiles.h"
#include "expr/bound_lanes.h"
#include "schedule/rows.h"

namespace attngen::schedule {

// A tile's queries, ends included, and the keys that it may need.
struct TilePlace {
  int64_t q_first = 0, q_last = 0;
  RowKeys keys;
  std::optional<Head> head = std::nullopt;  // whose mask it is, where heads differ
};
// Of each tile of `rows`, `queries` high.
std::vector<TilePlace> places_of(const TileRows& rows, int64_t seq_q, int queries);

// Whether it compares ids of queries with ids of keys, both in no order: these are taken to come in
// stretches of kStretch, if nothing else is known.
bool compares_ids(const attention::BlockTest& test);

// Whether it reads ids of keys alone: which keys are valid.
bool marks_keys(const attention::BlockTest& test);

// Blocks that are kept, and of these those that need no mask. What an input holds is not known: a
// block that it decides counts as the share that is taken to be kept. Where a test asks for a
// batch, or a head that is not known, the block is kept, and cut. Of very many blocks some stand
// for their neighbours, so that the counts need not be whole.
struct TestedBlocks {
  double full = 0, partial = 0;
};

// Asks one test about the blocks of many tiles.
class BlockTester {
 public:
  struct Call {
    int64_t seq_q, seq_kv;
    int tile_kv;
  };

  explicit BlockTester(const attention::BlockTest& test);
  // Of each tile.
  std::vector<TestedBlocks> ask(std::span<const TilePlace> tiles, const Call& call);
  // Pairs of such rows of one query.
  double pairs(std::span<const TilePlace> rows, int64_t seq_q, int64_t seq_kv);

 private:
  // Of blocks that inputs decide on: kept, and of these whole.
  struct Shares {
    double kept = 1, whole = 0;
  };
  struct Block {
    const TilePlace* tile;
    int64_t first, last;  // keys
    double kept = 0, whole = 0;
  };

  Shares shares(const TilePlace& tile, const Call& call) const;
  std::vector<Block> kept_blocks(std::span<const TilePlace> tiles, const Call& call);

  expr::LaneBounder kept_, whole_;
  bool compares_ids_;
  double stretch_;
  Shares by_data_ = {};  // of others
};

}  // namespace attngen::schedule
