#include <utility>
#include <vector>

#include "attention/block_bounds.h"
#include "attention/interval_mask.h"
#include "attention/tiles.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Parts joined by `and`.
void split(const Expr& mask, std::vector<Expr>& parts) {
  if (mask.op() == Op::And) {
    split(mask.operand(0), parts);
    split(mask.operand(1), parts);
  } else {
    parts.push_back(mask);
  }
}

// The scout asks of every block: beyond so many nodes it would take longer than it saves.
constexpr size_t kMostAsked = 1000;

}  // namespace

std::optional<BlockTest> block_test(const Expr& mask, Inputs inputs) {
  const Expr simple = expr::simplify(mask);
  if (is_interval_mask(key_range(simple, inputs))) return std::nullopt;
  std::vector<Expr> parts;
  split(simple, parts);
  BlockBounds bounds(inputs);
  Expr kept = expr::boolean(true);
  for (const Expr& part : parts) {
    // One stretch of keys: key_range's ends say it all.
    if (!is_interval_mask(key_range(part, inputs))) kept = both(kept, bounds.truth(part).may);
  }
  kept = expr::simplify(kept);
  if (!expr::mentions(kept, "kv_first") && !expr::mentions(kept, "kv_last") && !reads_table(kept)) {
    return std::nullopt;
  }
  const Expr full = expr::simplify(bounds.truth(simple).must);
  if (expr::count_nodes(kept) + expr::count_nodes(full) > kMostAsked) return std::nullopt;
  // What was asked of a table may have been in vain: the other side of a maximum is unknown.
  const bool read = reads_table(kept) || reads_table(full);
  return BlockTest{kept, full, read ? bounds.take_tables() : std::vector<IdTable>(), {}, {}};
}

namespace {

// Heads that share a pair's answer: for fewer, asking beforehand takes longer than it saves.
constexpr int kFewestReaders = 4;

int readers(const spec::Spec& spec) {
  if (expr::mentions(spec.mask, "h")) return 1;
  return expr::mentions(spec.mask, "h_kv") ? spec.heads.group() : spec.heads.q;
}

bool loads_by_pair(const Expr& mask) {
  return expr::find_node(mask, [](const Expr& node) {
           return node.op() == Op::Load && expr::mentions(node, "kv_idx") &&
                  (expr::mentions(node, "q_idx") || expr::mentions(node, "q_pos"));
         }) != nullptr;
}

}  // namespace

bool asks_pairs(const spec::Spec& spec) {
  if (spec.lists_as_mask) return true;
  return spec.block_size == 0 && !spec.varlen && loads_by_pair(spec.mask) &&
         readers(spec) >= kFewestReaders;
}

bool asks_pairs(const BlockTest& test) {
  return !test.tables.empty() && test.tables.front().of == TableOf::Pairs;
}

std::optional<BlockTest> block_test(const spec::Spec& spec) {
  if (spec.block_size > 0) return std::nullopt;
  if (!asks_pairs(spec)) return block_test(spec.mask, spec.inputs);
  const Expr mask = expr::simplify(spec.mask);
  const Truth truth = BlockBounds(spec.inputs).truth(mask);
  const Expr any = any_pair(), all = all_pairs();
  return BlockTest{any,
                   all,
                   {{mask, TableOf::Pairs}},
                   both(truth.may, either(truth.must, any)),
                   either(truth.must, both(truth.may, all))};
}

}  // namespace attngen::attention
