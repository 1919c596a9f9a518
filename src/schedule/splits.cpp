#include "schedule/splits.h"

#include <algorithm>

namespace attngen::schedule {
namespace {

// In keys that a tile visits: its ends, the kernel that joins splits, a split more of that, and how
// many rows of a split are as long as a key. Of 14 calls on an H100, of head dims 64 to 256, splits
// by these took 3 % longer in the mean than by the best of three to eight numbers, 13 % at most
// (2026-11-27, a throw-away script).
constexpr int64_t kEnds = 256, kJoining = 512, kSplit = 16, kPartRows = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string why_unsplittable(const Kernel& kernel) {
  if (kernel.varlen) return "keys are not split in packed sequences (varlen)";
  if (kernel.maps > 1) return "keys are not split where there are two maps of scores";
  if (kernel.value_parts > 1) return "keys are not split where values have several parts";
  return {};
}

int64_t splits_of(const Schedule& s, const Resources& resources, int heads_q, int heads_kv,
                  const spec::Workload& call) {
  if (!s.split_keys) return 1;
  const int64_t places = resources.places;
  const int64_t rows = s.pack_heads ? call.seq_q * (heads_q / heads_kv) : call.seq_q;
  const int64_t heads = call.batch * (s.pack_heads ? heads_kv : heads_q);
  const int64_t tiles = ceil_div(rows, s.tile_q()) * heads;
  if (tiles > places) return 1;
  const int64_t span = resources.row_order.span;
  const int64_t keys = span > 0 ? std::min(call.seq_kv, span + s.tile_q()) : call.seq_kv;
  const int64_t blocks = ceil_div(keys, s.tile_kv);
  const int64_t each = kSplit + call.batch * heads_q * call.seq_q / kPartRows;
  int64_t best = 1, least = blocks * s.tile_kv + kEnds;
  for (int64_t splits = 2; splits <= blocks && splits * tiles <= 2 * places; ++splits) {
    const int64_t waves = ceil_div(splits * tiles, places);
    const int64_t time =
        waves * (ceil_div(blocks, splits) * s.tile_kv + kEnds) + kJoining + splits * each;
    if (time < least) {
      best = splits;
      least = time;
    }
  }
  return best;
}

int64_t part_bytes(int head_dim_v, size_t reductions) {
  constexpr int64_t kFloat = 4, kPartAlignment = 16;
  const int64_t bytes =
      kFloat * (head_dim_v + static_cast<int64_t>(std::max<size_t>(1, reductions)));
  return ceil_div(bytes, kPartAlignment) * kPartAlignment;
}

}  // namespace attngen::schedule
