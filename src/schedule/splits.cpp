#include "schedule/splits.h"

#include <algorithm>
#include <limits>

namespace attngen::schedule {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Tiles of a call, before their keys are split. They may be more than an int64_t holds.
double tiles_of(const Schedule& s, const SplitHeads& heads, const spec::Workload& call) {
  const int64_t rows = s.pack_heads ? call.seq_q * s.rows_of_query(heads.q / heads.kv) : call.seq_q;
  return static_cast<double>(ceil_div(rows, s.tile_q())) * static_cast<double>(call.batch) *
         heads.value_parts * (s.pack_heads ? heads.kv * head_parts(heads.q / heads.kv) : heads.q);
}

// Whether sequences that are longer than the mean may be split, if that is not.
bool may_be_uneven(const Schedule& s, const Resources& resources, const SplitHeads& heads,
                   const spec::Workload& call) {
  using Rule = SplitRule;
  if (!s.split_keys || !heads.varlen) return false;
  if (call.batch < 2 || call.batch > Rule::kFewSequences) return false;
  const double rows = static_cast<double>(call.seq_q) * static_cast<double>(call.batch) * heads.q *
                      heads.value_parts;
  if (rows > static_cast<double>(Rule::kUnevenRows)) return false;
  const double tiles = tiles_of(s, heads, call);
  return tiles <= static_cast<double>(Rule::kUnevenTurns * resources.places) &&
         tiles * static_cast<double>(call.seq_kv) >=
             static_cast<double>(Rule::kUnevenKeys * resources.places);
}

}  // namespace

SplitHeads split_heads(const Kernel& kernel) {
  return {kernel.heads_q,        kernel.heads_kv, kernel.output_columns(), kernel.masked,
          kernel.block_size > 0, kernel.varlen,   kernel.value_parts,      kernel.maps};
}

int64_t splits_of(const Schedule& s, const Resources& resources, const SplitHeads& heads,
                  const spec::Workload& call) {
  using Rule = SplitRule;
  if (!s.split_keys || (heads.varlen && call.batch > Rule::kFewSequences)) return 1;
  const bool rising = resources.row_order.ends_short && !heads.sparse;
  const int64_t places = resources.places;
  const int64_t most_tiles =
      Rule::most_turns(resources.row_order, heads.masked, heads.sparse) * places;
  const double all_tiles = tiles_of(s, heads, call);
  if (2 * all_tiles > static_cast<double>(most_tiles)) return 1;
  const auto tiles = static_cast<int64_t>(all_tiles);
  const int64_t span = heads.sparse ? 0 : resources.row_order.span;
  const int64_t keys = span > 0 ? std::min(call.seq_kv, span + s.tile_q()) : call.seq_kv;
  const int64_t blocks = ceil_div(keys, s.tile_kv);
  const int64_t mean = keys - std::min(call.seq_q, keys) / 2;
  const int64_t all_rows = call.batch * heads.q * heads.value_parts * call.seq_q;
  const int64_t each = Rule::kEach + heads.maps * all_rows / (Rule::kPartValues / heads.head_dim_v);
  int64_t best = 1, least = std::numeric_limits<int64_t>::max();
  for (int64_t splits = 1; splits <= std::max<int64_t>(1, blocks) && splits * tiles <= most_tiles;
       ++splits) {
    const int64_t longest = ceil_div(blocks, splits) * s.tile_kv + Rule::kEnds;
    const int64_t visited = rising
                                ? std::max(longest, tiles * (mean + splits * Rule::kEnds) / places)
                                : ceil_div(splits * tiles, places) * longest;
    const bool crowded = !heads.varlen && all_rows <= Rule::kMostEarlyRows &&
                         splits * tiles > places * Rule::kRoomySixths / 6;
    const int64_t joining = Rule::kJoining + splits * each + (crowded ? Rule::kCrowded : 0);
    const int64_t time = splits > 1 ? visited + joining : visited;
    if (time < least) {
      best = splits;
      least = time;
    }
  }
  return best;
}

int64_t most_parts(const Schedule& s, const Resources& resources, const SplitHeads& heads,
                   const spec::Workload& call) {
  const int64_t splits = splits_of(s, resources, heads, call);
  const int64_t rows = call.batch * call.seq_q * heads.maps;
  if (splits > 1) return rows * splits;
  return may_be_uneven(s, resources, heads, call) ? 2 * rows : 0;
}

int64_t part_bytes(int head_dim_v, size_t reductions) {
  constexpr int64_t kFloat = 4, kNumber = 8, kPartAlignment = 16;
  const int64_t floats = head_dim_v + static_cast<int64_t>(std::max<size_t>(1, reductions));
  const int64_t bytes = kFloat * floats + kNumber;
  return ceil_div(bytes, kPartAlignment) * kPartAlignment;
}

}  // namespace attngen::schedule
