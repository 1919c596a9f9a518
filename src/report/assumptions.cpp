#include "report/assumptions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "attention/tiles.h"
#include "expr/ops.h"

namespace attngen::report {
namespace {

using expr::Expr;
using Names = std::set<std::string>;

// What decides which keys a mask leaves: inputs, and b, h, h_kv.
struct Deciders {
  Names sorted;  // ids in order, which a kernel searches
  Names limits;  // of where keys begin and end
  Names blocks;  // a kernel asks of each block by them
  Names shares;  // the same, of which the cost model knows no better than a share
  Names pairs;   // it tests them pair by pair
};

// An index of a load decides nothing by itself. Tables of ids have numbers for names.
void add_deciders(const Expr& e, Names& sorted, Names& others) {
  if (e.op() == expr::Op::Load) {
    const std::string_view name = e.name();
    const std::string_view input = name.substr(0, name.find('.'));
    const bool searched = name.ends_with(attention::kBelow) || name.ends_with(attention::kUpTo);
    const bool table = std::isdigit(static_cast<unsigned char>(input.front())) != 0;
    if (!table) (searched ? sorted : others).emplace(input);
    return;
  }
  constexpr std::array<std::string_view, 3> kPlaces{"b", "h", "h_kv"};
  if (e.op() == expr::Op::Variable && std::ranges::count(kPlaces, e.name()) > 0) {
    others.emplace(e.name());
  }
  for (const Expr& operand : e.operands()) add_deciders(operand, sorted, others);
}

Deciders deciders_of(const spec::Spec& spec, target::Family family) {
  Deciders found;
  const attention::KeyRange range = attention::key_range(spec.mask, spec.inputs);
  for (const Expr& end : {range.begin, range.end}) add_deciders(end, found.sorted, found.limits);
  // Beside blocks of the caller's nobody asks of them.
  const bool asks = family == target::Family::Hopper && spec.block_size == 0;
  const auto test = attention::block_test(spec.mask, spec.inputs, !spec.varlen);
  if (asks && test) {
    const bool by_inputs = test->tables.empty() && !expr::inputs_of(test->kept).empty();
    add_deciders(test->kept, found.sorted, by_inputs ? found.shares : found.blocks);
    for (const attention::IdTable& table : test->tables) {
      for (const std::string& name : expr::inputs_of(table.value)) found.blocks.insert(name);
    }
  }
  for (Names* const blocks : {&found.blocks, &found.shares}) {
    for (const std::string& name : found.sorted) blocks->erase(name);
    for (const std::string& name : *blocks) found.limits.erase(name);
  }
  for (const std::string& name : expr::inputs_of(spec.mask)) {
    if (!found.sorted.contains(name) && !found.limits.contains(name) &&
        !found.blocks.contains(name) && !found.shares.contains(name)) {
      found.pairs.insert(name);
    }
  }
  return found;
}

std::string said_of(const Names& names, const char* of_one, const char* of_several) {
  return fmt::format("{} {}", fmt::join(names, ", "), names.size() == 1 ? of_one : of_several);
}

}  // namespace

std::vector<std::string> assumptions(const spec::Spec& spec, target::Family family) {
  const Deciders mask = spec.mask ? deciders_of(spec, family) : Deciders{};
  std::vector<std::string> assumed;
  if (spec.varlen) assumed.emplace_back("all sequences are as long as the workload's");
  if (spec.block_size > 0) {
    const bool bitmap = spec.sparsity == spec::Spec::Sparsity::BlockBitmap;
    assumed.emplace_back(bitmap ? "block_mask keeps every block" : "block_counts keep every block");
  }
  if (!mask.sorted.empty()) {
    assumed.push_back(said_of(mask.sorted, "holds one id alone", "hold one id each"));
  }
  if (!mask.limits.empty()) {
    assumed.push_back(said_of(mask.limits, "leaves out no key", "leave out no key"));
  }
  if (!mask.blocks.empty()) {
    assumed.push_back(said_of(mask.blocks, "empties no block", "empty no block"));
  }
  if (!mask.shares.empty()) {
    assumed.push_back(said_of(mask.shares, "keeps a fifth of the blocks that it decides",
                              "keep a fifth of the blocks that they decide"));
  }
  std::vector<std::string> lines;
  if (!assumed.empty()) {
    lines.push_back(fmt::format("predictions assume that {}", fmt::join(assumed, ", that ")));
  }
  if (!mask.pairs.empty()) {
    lines.push_back(said_of(mask.pairs, "is tested pair by pair: no block is passed over by it",
                            "are tested pair by pair: no block is passed over by them"));
  }
  return lines;
}

}  // namespace attngen::report
