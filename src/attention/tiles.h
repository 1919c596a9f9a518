// Which blocks of keys a mask leaves to a tile of rows, proven by interval arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attention/id_tables.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// Some pair may not exist, beyond those past seq_kv.
inline bool is_masked(const spec::Spec& spec) {
  return spec.token_count > 0 || !(spec.mask.is_number() && spec.mask.number() != 0);
}

// The keys that rows q_first..q_last (both included) may need, in closed form. All four are Int
// expressions of q_first, q_last, seq_q, seq_kv, b, h, h_kv and inputs that a row can index:
//   no pair of these rows exists outside [begin, end);
//   every pair inside [full_begin, full_end) exists (nothing is claimed if full_begin >= full_end).
// Causal: begin 0, end q_last + (seq_kv - seq_q) + 1, full_end q_first + (seq_kv - seq_q) + 1.
// Values may lie outside [0, seq_kv]; the kernel clamps. A mask without such bounds gives 0,
// seq_kv, 0, 0.
//
// An input that ascends along the keys (`sorted`) is searched: the ends then read its name with
// kBelow or kUpTo after it, indexed by all its dimensions but the last and then by a value: the
// number of keys whose element is below the value, or at most it. doc[b, q_pos] == doc[b, kv_idx]
// begins at doc.below[b, doc[b, q_first + (seq_kv - seq_q)]].
inline constexpr std::string_view kBelow = ".below", kUpTo = ".up_to";
struct KeyRange {
  expr::Expr begin, end, full_begin, full_end;
  bool always_full = false;  // the mask is `true`: only the tail of seq_kv is partial
};
KeyRange key_range(const expr::Expr& mask, std::span<const spec::Input> inputs);
// Whether an end searches an input.
bool searches(const KeyRange& range);

// What a mask says of a block of keys kv_first..kv_last (both included) of the rows
// q_first..q_last, as Bool expressions of these and of what KeyRange's ends read:
//   no pair of the block exists unless `kept`;   every pair of it exists if `full`.
// What a mask reads of ids in no order is bounded by `tables`.
// Nothing for a mask whose key_range says it all: whose keys are one stretch, or unknown.
struct BlockTest {
  expr::Expr kept, full;
  std::vector<IdTable> tables;
  // For predictions, of a mask that is asked of all pairs (asks_pairs): the same where its text
  // proves nothing of a block.
  expr::Expr proven_kept, proven_full;
  double stretch = 0;  // and for how many keys ids of the tables stay the same, if that is known
};
std::optional<BlockTest> block_test(const expr::Expr& mask, std::span<const spec::Input> inputs);
// Of a spec. Under block sparsity the caller's blocks are visited, not those that the mask would
// keep.
std::optional<BlockTest> block_test(const spec::Spec& spec);

// Whether a mask is asked of all pairs before the kernel, which then finds a bit for each: it loads
// an element of an input for each, of which no bounds tell, and enough heads share the answer. The
// block test is that of a table of pairs.
bool asks_pairs(const spec::Spec& spec);
bool asks_pairs(const BlockTest& test);

}  // namespace attngen::attention
