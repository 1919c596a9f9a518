// Which tiles of the score matrix a mask leaves empty, full or partial, proven by interval
// arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attention/id_tables.h"
#include "expr/bound.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

enum class TileClass : uint8_t { Empty, Full, Partial };

// Rows [q_begin, q_end) and columns [kv_begin, kv_end) of one (batch, head).
struct Tile {
  int64_t q_begin = 0, q_end = 0, kv_begin = 0, kv_end = 0;
};

// `others` bounds what the tile does not: b, h, h_kv, inputs. Empty and Full are proofs; Partial is
// not.
TileClass classify(const expr::Expr& mask, const Tile& tile, int64_t seq_q, int64_t seq_kv,
                   const expr::Bounds& others = {});

// The keys that rows q_first..q_last (both included) may need, in closed form. All four are Int
// expressions of q_first, q_last, seq_q, seq_kv, b, h, h_kv and inputs that a row can index:
//   no pair of these rows exists outside [begin, end);
//   every pair inside [full_begin, full_end) exists (nothing is claimed if full_begin >= full_end).
// Causal: begin 0, end q_last + seq_kv - seq_q + 1, full_end q_first + seq_kv - seq_q + 1. Values
// may lie outside [0, seq_kv]; the kernel clamps. A mask without such bounds gives 0, seq_kv, 0, 0.
//
// An input that ascends along the keys (`sorted`) is searched: the ends then read its name with
// kBelow or kUpTo after it, indexed by all its dimensions but the last and then by a value: the
// number of keys whose element is below the value, or at most it. doc[b, q_pos] == doc[b, kv_idx]
// begins at doc.below[b, doc[b, q_first + seq_kv - seq_q]].
inline constexpr std::string_view kBelow = ".below", kUpTo = ".up_to";
struct KeyRange {
  expr::Expr begin, end, full_begin, full_end;
  bool always_full = false;   // the mask is `true`: only the tail of seq_kv is partial
  bool may_be_empty = false;  // some row may have no pair (any mask but `true`, unless proven)
};
KeyRange key_range(const expr::Expr& mask, std::span<const spec::Input> inputs);
// Whether an end searches an input.
bool searches(const KeyRange& range);

// What a mask says of a block of keys kv_first..kv_last (both included) of the rows
// q_first..q_last, as Bool expressions of these and of what KeyRange's ends read:
//   no pair of the block exists unless `kept`;   every pair of it exists if `full`.
// What a mask reads of ids in no order is bounded by `tables`, or by nothing without them.
// Nothing for a mask whose key_range says it all: whose keys are one stretch, or unknown.
struct BlockTest {
  expr::Expr kept, full;
  std::vector<IdTable> tables;
};
std::optional<BlockTest> block_test(const expr::Expr& mask, std::span<const spec::Input> inputs,
                                    bool with_tables);

// Tiles that the kernel visits for one (batch, head): the sums over all tile rows. `full` need no
// mask. Inputs are unknown here: a bound that reads one counts as unbounded.
struct TileCounts {
  int64_t full = 0;
  int64_t partial = 0;
  int64_t rows = 0;     // tile rows
  int64_t longest = 0;  // most tiles in one tile row
};
TileCounts count_tiles(const KeyRange& range, int64_t seq_q, int64_t seq_kv, int tile_q,
                       int tile_kv);

}  // namespace attngen::attention
