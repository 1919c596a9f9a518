#include "schedule/tested_blocks.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "expr/bound.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr int64_t kMostBlocks = 64;  // that are asked about, of a tile

// Of blocks that inputs decide on: kept, and of these whole.
struct Shares {
  double kept = 1, whole = 0;
};

// A tile keeps the blocks of every stretch that it has a query of: the smaller, the fewer.
Shares shares_of_stretches(double queries, double tile_kv, double seq_kv) {
  const double touched = kStretch + queries + tile_kv;
  const double within = std::max(0.0, kStretch - queries) * std::max(0.0, kStretch - tile_kv);
  return {std::min(1.0, touched / seq_kv), within / (kStretch * touched)};
}

Shares shares_by_data(const attention::BlockTest& test, double queries, double tile_kv,
                      double seq_kv) {
  if (compares_ids(test)) return shares_of_stretches(queries, tile_kv, seq_kv);
  return {expr::inputs_of(test.kept).empty() ? 1 : kKeptByData,
          expr::inputs_of(test.full).empty() ? 0 : kWholeByData};
}

}  // namespace

bool compares_ids(const attention::BlockTest& test) {
  const auto has_ids = [&](bool of_keys) {
    return std::ranges::any_of(test.tables, [&](const attention::IdTable& table) {
      return table.of_keys == of_keys && table.value.type() == expr::Type::Int;
    });
  };
  return has_ids(true) && has_ids(false);
}

TestedBlocks tested_blocks(const attention::BlockTest& test, const TilePlace& place, int64_t seq_q,
                           int64_t seq_kv, int tile_kv) {
  TestedBlocks found;
  if (place.keys.begin >= place.keys.end) return found;
  int64_t kv_first = 0, kv_last = 0;
  expr::Bounds bounds;
  bounds.variable = [&](std::string_view name) -> expr::Interval {
    if (name == "q_first") return expr::point(place.q_first);
    if (name == "q_last") return expr::point(place.q_last);
    if (name == "kv_first") return expr::point(kv_first);
    if (name == "kv_last") return expr::point(kv_last);
    if (name == "seq_q") return expr::point(seq_q);
    if (name == "seq_kv") return expr::point(seq_kv);
    return {};  // b, h, h_kv
  };
  bounds.input = [](std::string_view) { return expr::Interval{}; };
  expr::Bounder kept(test.kept), whole(test.full);
  const Shares by_data = shares_by_data(test, static_cast<double>(place.q_last - place.q_first + 1),
                                        tile_kv, static_cast<double>(seq_kv));
  const int64_t first = place.keys.begin / tile_kv;
  const int64_t count = (place.keys.end + tile_kv - 1) / tile_kv - first;
  const int64_t asked = std::min(count, kMostBlocks);
  const double share = static_cast<double>(count) / static_cast<double>(asked);
  for (int64_t i = 0; i < asked; ++i) {
    kv_first = (first + spread_sample(i, asked, count)) * tile_kv;
    kv_last = std::min(kv_first + tile_kv, seq_kv) - 1;
    const expr::Interval keeps = kept.bound(bounds);
    if (keeps.is_false()) continue;
    const double blocks = keeps.is_true() ? 1 : by_data.kept;
    double full = 0;
    if (kv_first + tile_kv <= seq_kv) {
      const expr::Interval exists = whole.bound(bounds);
      full = exists.is_true() ? 1 : exists.is_false() ? 0 : by_data.whole;
    }
    found.full += blocks * full;
    found.partial += blocks * (1 - full);
  }
  return {found.full * share, found.partial * share};
}

}  // namespace attngen::schedule
