#include "report/assumptions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "attention/given.h"
#include "attention/tiles.h"
#include "expr/ops.h"
#include "expr/print.h"
#include "schedule/lengths.h"
#include "schedule/tested_blocks.h"
#include "schedule/units.h"
#include "text/characters.h"

namespace attngen::report {
namespace {

using expr::Expr;
using Names = std::set<std::string>;

// What decides which keys a mask leaves: inputs, and b.
struct Deciders {
  // Where keys begin and end.
  Names sorted;   // ids in order, which a kernel searches
  Names sought;   // what it looks for in them
  Names lengths;  // other inputs
  Names limits;   // b
  // Which blocks a kernel visits, of which it asks each.
  Names blocks;     // b
  Names shares;     // inputs, of which the cost model knows no better than a share
  Names marks;      // or that they mark keys, mostly as valid
  Names stretches;  // or how long ids in no order stay the same
  bool stretch_given = false;
  bool asked = false;                    // of which a kernel before asks all pairs
  Names pairs;                           // tested pair by pair
  bool none = false;                     // of a mask of indices alone: all pairs are tested
  std::vector<std::string> untold;       // else its conditions that tell of no block
  std::vector<schedule::Lengths> taken;  // that lengths are, at one point of the workload or more
  bool both_ends = false;                // are said by lengths
  bool gaps = false;  // between a row's first key and its last, which the family does not know
};

// Gathers them, once from what is shared: limits of masks share much.
class DeciderNames {
 public:
  DeciderNames(Deciders& found, Names& others) : found_(found), others_(others) {}

  // An index of a load decides nothing by itself, but what is looked for does. Tables of ids have
  // numbers for names.
  void add(const Expr& e) {
    if (!seen_.insert(e.identity()).second) return;
    if (e.op() == expr::Op::Load) {
      const std::string_view name = e.name();
      const std::string_view input = name.substr(0, name.find('.'));
      const bool searched = name.ends_with(attention::kBelow) || name.ends_with(attention::kUpTo);
      if (!text::is_digit(input.front())) (searched ? found_.sorted : others_).emplace(input);
      if (searched) {
        for (const std::string& sought : expr::inputs_of(e)) found_.sought.insert(sought);
      }
      return;
    }
    // Heads are all asked.
    if (e.op() == expr::Op::Variable && e.name() == "b") others_.emplace("b");
    for (const Expr& operand : e.operands()) add(operand);
  }

 private:
  Deciders& found_;
  Names& others_;
  std::set<const void*> seen_;
};

// In the order of the workload, each once.
std::vector<schedule::Lengths> taken_of(const spec::Spec& spec) {
  std::vector<schedule::Lengths> taken;
  const attention::KeyRange range = attention::key_range(spec.mask, spec.inputs);
  for (const spec::Workload& point : spec.workload) {
    const schedule::Lengths lengths =
        schedule::taken_lengths(attention::given(range, point.values), point.seq_q, point.seq_kv);
    if (std::ranges::find(taken, lengths) == taken.end()) taken.push_back(lengths);
  }
  return taken;
}

void add_conditions(const Expr& mask, std::vector<Expr>& conditions) {
  if (mask.op() != expr::Op::And) return conditions.push_back(mask);
  for (const Expr& operand : mask.operands()) add_conditions(operand, conditions);
}

bool is_seq_kv(const Expr& end) { return end.op() == expr::Op::Variable && end.name() == "seq_kv"; }

bool bounds_keys(const attention::KeyRange& range) {
  return !range.begin.is_number(0) || !is_seq_kv(range.end);
}

// Those of a mask, joined by `and`, that tell neither where keys begin or end nor of blocks
// between. Of what reads inputs these are named.
std::vector<std::string> untold_of(const spec::Spec& spec) {
  std::vector<Expr> conditions;
  add_conditions(spec.mask, conditions);
  std::vector<std::string> untold;
  for (const Expr& condition : conditions) {
    if (!expr::inputs_of(condition).empty()) continue;
    const attention::KeyRange range = attention::key_range(condition, spec.inputs);
    const bool tells = range.always_full || bounds_keys(range) ||
                       attention::block_test(condition, spec.inputs).has_value();
    if (!tells) untold.push_back(expr::print_brief(condition));
  }
  return untold;
}

// What decides beside `values`.
Deciders deciders_of(const spec::Spec& spec, target::Family family, const spec::Values& values) {
  Deciders found;
  const attention::KeyRange range =
      attention::given(attention::key_range(spec.mask, spec.inputs), values);
  found.both_ends = schedule::has_lengths_at_both_ends(range);
  found.taken = taken_of(spec);
  DeciderNames limits(found, found.limits);
  for (const Expr& end : {range.begin, range.end}) limits.add(end);
  for (const std::string& name : expr::inputs_of(spec.mask)) {
    if (found.limits.erase(name) > 0) found.lengths.insert(name);
  }
  auto test = attention::block_test(spec);
  if (test) test = attention::given(*test, values);
  const bool asks = family == target::Family::Hopper && test.has_value();
  found.stretch_given = test && test->stretch > 0;
  found.gaps = test.has_value() && !asks;
  found.asked = asks && attention::asks_pairs(*test);
  if (found.asked) return found;
  if (asks) {
    Names& deciders = schedule::compares_ids(*test)         ? found.stretches
                      : expr::inputs_of(test->kept).empty() ? found.blocks
                      : schedule::marks_keys(*test)         ? found.marks
                                                            : found.shares;
    DeciderNames(found, deciders).add(test->kept);
    for (const attention::IdTable& table : test->tables) {
      for (const std::string& name : expr::inputs_of(table.value)) deciders.insert(name);
    }
  }
  const bool bounds = bounds_keys(range) || spec.block_size > 0;
  found.none = !(range.always_full || bounds || asks) && expr::inputs_of(spec.mask).empty();
  if (!found.none) found.untold = untold_of(spec);
  for (Names* const blocks : {&found.blocks, &found.shares, &found.marks, &found.stretches}) {
    for (const std::string& name : found.sorted) blocks->erase(name);
    for (const std::string& name : *blocks) {
      found.limits.erase(name);
      found.lengths.erase(name);
    }
  }
  const std::array found_of{&found.sorted, &found.sought, &found.lengths,
                            &found.shares, &found.marks,  &found.stretches};
  for (const std::string& name : expr::inputs_of(spec.mask)) {
    const bool is_known =
        std::ranges::any_of(found_of, [&](const Names* names) { return names->contains(name); });
    if (!is_known) found.pairs.insert(name);
  }
  return found;
}

std::string said_of(const Names& names, std::string_view of_one, std::string_view of_several) {
  return fmt::format("{} {}", fmt::join(names, ", "), names.size() == 1 ? of_one : of_several);
}

std::string_view name_of(schedule::Lengths lengths) {
  switch (lengths) {
    case schedule::Lengths::Half:
      return "half of seq_kv";
    case schedule::Lengths::ThreeQuarters:
      return "three quarters of seq_kv";
    case schedule::Lengths::Whole:
      return "all of seq_kv";
    case schedule::Lengths::Zero:
      return "0";
    case schedule::Lengths::SeqKv:
      return "seq_kv";
  }
  return "";
}

// At both ends some of the lengths are what is left, others the inputs' own values.
std::string said_of_lengths(const Deciders& mask) {
  const auto leaves = [&](schedule::Lengths lengths) {
    return mask.both_ends && lengths != schedule::Lengths::Zero &&
           lengths != schedule::Lengths::SeqKv;
  };
  std::vector<std::string> said;
  for (const schedule::Lengths lengths : mask.taken) {
    const bool several = mask.lengths.size() > 1;
    const std::string_view verb =
        leaves(lengths) ? (several ? "leave" : "leaves") : (several ? "are" : "is");
    const std::string_view why =
        lengths == schedule::Lengths::Half ? "" : " where half leaves no pair";
    said.push_back(fmt::format("{} {}{}", verb, name_of(lengths), why));
  }
  return fmt::format("{} {}", fmt::join(mask.lengths, ", "), fmt::join(said, " or "));
}

// What a prediction takes for granted of a call's data.
std::vector<std::string> assumed_of(const spec::Spec& spec, const Deciders& mask) {
  std::vector<std::string> assumed;
  if (spec.varlen) assumed.emplace_back("sequences are as long as the workload's in the mean");
  if (spec.block_size > 0) {
    const bool bitmap = spec.sparsity == spec::Spec::Sparsity::BlockBitmap;
    assumed.emplace_back(spec.most_blocks ? "lists are as long as there is room for"
                         : bitmap         ? "block_mask keeps every block"
                                          : "block_counts keep every block");
    assumed.emplace_back(spec.rows_alike ? "rows of blocks are alike" : "rows of blocks are apart");
  }
  if (spec.gathers_lists()) assumed.emplace_back("lists are as long as there is room for");
  if (!mask.sorted.empty()) {
    assumed.push_back(said_of(mask.sorted, "holds one id alone", "hold one id each"));
  }
  if (!mask.lengths.empty()) assumed.push_back(said_of_lengths(mask));
  if (!mask.limits.empty()) {
    assumed.push_back(said_of(mask.limits, "leaves out no key", "leave out no key"));
  }
  if (!mask.blocks.empty()) {
    assumed.push_back(said_of(mask.blocks, "empties no block", "empty no block"));
  }
  if (spec.lists_as_mask) {
    assumed.emplace_back(
        "lists are as long as there is room for, and those of a tile name a key of each block");
  } else if (mask.asked) {
    assumed.emplace_back(
        "the mask keeps half of the blocks that its text leaves open, and half of these whole");
  }
  if (!mask.shares.empty()) {
    assumed.push_back(said_of(mask.shares, "keeps a fifth of the blocks that it decides",
                              "keep a fifth of the blocks that they decide"));
  }
  if (!mask.marks.empty()) {
    assumed.push_back(said_of(mask.marks, "keeps three in four of the blocks that it decides",
                              "keep three in four of the blocks that they decide"));
  }
  if (!mask.stretches.empty() && !mask.stretch_given) {
    const std::string ids =
        fmt::format("what ids in stretches of {:g} keys would", schedule::kStretch);
    assumed.push_back(said_of(mask.stretches, "keeps " + ids, "keep " + ids));
  }
  return assumed;
}

// What each point of the workload gives a value, of which any will do.
spec::Values given_everywhere(const spec::Spec& spec) {
  spec::Values values = spec.workload.front().values;
  for (const spec::Workload& point : spec.workload) {
    std::erase_if(values, [&](const auto& value) { return !point.values.contains(value.first); });
  }
  return values;
}

}  // namespace

std::vector<std::string> assumptions(const spec::Spec& spec, target::Family family) {
  const Deciders mask = spec.mask ? deciders_of(spec, family, {}) : Deciders{};
  const std::vector<std::string> assumed =
      assumed_of(spec, spec.mask ? deciders_of(spec, family, given_everywhere(spec)) : mask);
  std::vector<std::string> lines;
  if (!assumed.empty()) {
    lines.push_back(fmt::format("predictions assume that {}", fmt::join(assumed, ", that ")));
  }
  if (mask.asked) {
    lines.emplace_back(
        spec.lists_as_mask
            ? "a kernel before makes bits of the lists: blocks without one are passed over"
            : "a kernel before asks the mask of all pairs: blocks without one are passed over");
  }
  if (!mask.pairs.empty()) {
    lines.push_back(said_of(mask.pairs, "is tested pair by pair: no block is passed over by it",
                            "are tested pair by pair: no block is passed over by them"));
  }
  for (const std::string& condition : mask.untold) {
    lines.push_back(
        fmt::format("{} is tested pair by pair: no block is passed over by it", condition));
  }
  if (mask.gaps && mask.pairs.empty() && !mask.none) {
    lines.emplace_back(
        "blocks of a gap in the mask are visited: only what is before a tile's first key and after "
        "its last is passed over");
  }
  if (mask.none) lines.emplace_back("the mask is tested pair by pair: no block is passed over");
  return lines;
}

}  // namespace attngen::report
