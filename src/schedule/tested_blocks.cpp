#include "schedule/tested_blocks.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "expr/bound.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr int64_t kMostBlocks = 64;  // that are asked about, of a tile

}  // namespace

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
  const double undecided = expr::inputs_of(test.kept).empty() ? 1 : kKeptByData;
  const int64_t first = place.keys.begin / tile_kv;
  const int64_t count = (place.keys.end + tile_kv - 1) / tile_kv - first;
  const int64_t asked = std::min(count, kMostBlocks);
  const double share = static_cast<double>(count) / static_cast<double>(asked);
  for (int64_t i = 0; i < asked; ++i) {
    // Of each share one, not the same one: masks repeat themselves.
    constexpr double kGoldenRatio = 0.6180339887498949;
    const double turn = static_cast<double>(i) * kGoldenRatio;
    const double place_of_block = (static_cast<double>(i) + turn - std::floor(turn)) * share;
    kv_first = (first + static_cast<int64_t>(place_of_block)) * tile_kv;
    kv_last = std::min(kv_first + tile_kv, seq_kv) - 1;
    const expr::Interval keeps = kept.bound(bounds);
    if (keeps.is_false()) continue;
    const bool full = kv_first + tile_kv <= seq_kv && whole.bound(bounds).is_true();
    (full ? found.full : found.partial) += keeps.is_true() ? 1 : undecided;
  }
  return {found.full * share, found.partial * share};
}

}  // namespace attngen::schedule
