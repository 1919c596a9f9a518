#include "schedule/tested_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/listed.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr int64_t kMostBlocks = 64;  // that are asked about, of a tile

// The blocks of a tile, and how many of them stand for all.
struct Sample {
  int64_t first = 0, count = 0, asked = 0;

  Sample(const RowKeys& keys, int tile_kv) {
    if (keys.begin >= keys.end) return;
    first = keys.begin / tile_kv;
    count = (keys.end + tile_kv - 1) / tile_kv - first;
    asked = std::min(count, kMostBlocks);
  }
  double share() const {
    return asked > 0 ? static_cast<double>(count) / static_cast<double>(asked) : 1;
  }
};

void set_lengths(expr::LaneBounder& test, int64_t seq_q, int64_t seq_kv) {
  test.set("seq_q", static_cast<double>(seq_q));
  test.set("seq_kv", static_cast<double>(seq_kv));
}

// Calls answer(block, bounds of the test there) for each block in turn.
template <typename Block, typename Answer>
void bound_each(expr::LaneBounder& test, std::span<Block> blocks, const Answer& answer) {
  constexpr size_t kLanes = expr::LaneBounder::kLanes;
  std::array<double, kLanes> q_first, q_last, kv_first, kv_last, h, h_kv;
  const bool of_heads = !blocks.empty() && blocks.front().tile->head;
  while (!blocks.empty()) {
    const size_t count = std::min(kLanes, blocks.size());
    for (size_t i = 0; i < count; ++i) {
      q_first[i] = static_cast<double>(blocks[i].tile->q_first);
      q_last[i] = static_cast<double>(blocks[i].tile->q_last);
      kv_first[i] = static_cast<double>(blocks[i].first);
      kv_last[i] = static_cast<double>(blocks[i].last);
      const Head head = blocks[i].tile->head.value_or(Head{});
      h[i] = head.q;
      h_kv[i] = head.kv;
    }
    if (of_heads) {
      test.set("h", std::span(h).first(count));
      test.set("h_kv", std::span(h_kv).first(count));
    }
    test.set("q_first", std::span(q_first).first(count));
    test.set("q_last", std::span(q_last).first(count));
    test.set("kv_first", std::span(kv_first).first(count));
    test.set("kv_last", std::span(kv_last).first(count));
    const expr::LaneBounder::Lanes& bounds = test.bound();
    for (size_t i = 0; i < count; ++i) answer(blocks[i], bounds.at(i));
    blocks = blocks.subspan(count);
  }
}

}  // namespace

std::vector<TilePlace> places_of(const TileRows& rows, int64_t seq_q, int queries) {
  std::vector<TilePlace> places;
  places.reserve(rows.keys.size());
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    places.push_back({rows.first[i], std::min(rows.first[i] + queries, seq_q) - 1, rows.keys[i],
                      rows.heads.empty() ? std::nullopt : std::optional(rows.heads[i])});
  }
  return places;
}

bool compares_ids(const attention::BlockTest& test) {
  const auto has_ids = [&](attention::TableOf of) {
    return std::ranges::any_of(test.tables, [&](const attention::IdTable& table) {
      return table.of == of && table.value.type() == expr::Type::Int;
    });
  };
  return has_ids(attention::TableOf::Keys) && has_ids(attention::TableOf::Queries);
}

bool marks_keys(const attention::BlockTest& test) {
  return !test.tables.empty() &&
         std::ranges::all_of(test.tables, [](const attention::IdTable& table) {
           return table.of == attention::TableOf::Keys && table.value.type() == expr::Type::Int;
         });
}

BlockTester::BlockTester(const attention::BlockTest& test)
    : kept_(test.proven_kept ? test.proven_kept : test.kept),
      whole_(test.proven_full ? test.proven_full : test.full),
      compares_ids_(compares_ids(test)),
      stretch_(test.stretch > 0 ? test.stretch : kStretch) {
  const bool marks = marks_keys(test);
  if (!expr::inputs_of(test.kept).empty()) by_data_.kept = marks ? kKeptByKeys : kKeptByData;
  if (!expr::inputs_of(test.full).empty()) by_data_.whole = marks ? kWholeByKeys : kWholeByData;
  if (attention::asks_pairs(test)) by_data_ = {kKeptByPairs, kWholeByPairs};
  // Of many queries some list a key of each block, and none is held to be whole.
  if (attention::asks_lists(test)) by_data_ = {1, 0};
}

// A tile keeps the blocks of every stretch that it has a query of: the smaller, the fewer.
BlockTester::Shares BlockTester::shares(const TilePlace& tile, const Call& call) const {
  if (!compares_ids_) return by_data_;
  const auto queries = static_cast<double>(tile.q_last - tile.q_first + 1);
  const double touched = stretch_ + queries + call.tile_kv;
  const double within = std::max(0.0, stretch_ - queries) * std::max(0.0, stretch_ - call.tile_kv);
  return {std::min(1.0, touched / static_cast<double>(call.seq_kv)), within / (stretch_ * touched)};
}

std::vector<BlockTester::Block> BlockTester::kept_blocks(std::span<const TilePlace> tiles,
                                                         const Call& call) {
  std::vector<Block> blocks;
  for (const TilePlace& tile : tiles) {
    const Sample sample(tile.keys, call.tile_kv);
    for (int64_t i = 0; i < sample.asked; ++i) {
      const int64_t block = sample.first + spread_sample(i, sample.asked, sample.count);
      const int64_t begin = block * call.tile_kv;
      blocks.push_back({&tile, begin, std::min(begin + call.tile_kv, call.seq_kv) - 1});
    }
  }
  set_lengths(kept_, call.seq_q, call.seq_kv);
  bound_each(kept_, std::span(blocks), [&](Block& block, const expr::Interval& keeps) {
    if (keeps.is_false()) return;
    block.kept = keeps.is_true() ? 1 : shares(*block.tile, call).kept;
  });
  std::erase_if(blocks, [](const Block& block) { return block.kept == 0; });
  return blocks;
}

std::vector<TestedBlocks> BlockTester::ask(std::span<const TilePlace> tiles, const Call& call) {
  std::vector<Block> blocks = kept_blocks(tiles, call);
  set_lengths(whole_, call.seq_q, call.seq_kv);
  bound_each(whole_, std::span(blocks), [&](Block& block, const expr::Interval& exists) {
    if (block.first + call.tile_kv > call.seq_kv || exists.is_false()) return;
    block.whole = exists.is_true() ? 1 : shares(*block.tile, call).whole;
  });
  std::vector<TestedBlocks> found(tiles.size());
  for (const Block& block : blocks) {
    TestedBlocks& of_tile = found[static_cast<size_t>(block.tile - tiles.data())];
    of_tile.full += block.kept * block.whole;
    of_tile.partial += block.kept * (1 - block.whole);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    const double share = Sample(tiles[i].keys, call.tile_kv).share();
    found[i] = {found[i].full * share, found[i].partial * share};
  }
  return found;
}

double BlockTester::pairs(std::span<const TilePlace> rows, int64_t seq_q, int64_t seq_kv) {
  double pairs = 0;
  for (const Block& key : kept_blocks(rows, {seq_q, seq_kv, 1})) {
    pairs += key.kept * Sample(key.tile->keys, 1).share();
  }
  return pairs;
}

}  // namespace attngen::schedule
