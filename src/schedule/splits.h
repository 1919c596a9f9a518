// Splits: shares of a tile's keys, each by a tile of its own, where a call has too few tiles to
// fill the GPU. Hopper only.
#pragma once

#include <cstdint>

#include "schedule/schedule.h"
#include "schedule/search.h"
#include "spec/spec.h"

namespace attngen::schedule {

// Why a kernel's keys cannot be split, or "".
std::string why_unsplittable(const Kernel& kernel);

// What of a kernel decides how its calls are split.
struct SplitHeads {
  int q = 1, kv = 1, head_dim_v = 0;
  bool masked = false, sparse = false;  // sparse: by the caller's blocks
};

SplitHeads split_heads(const Kernel& kernel);

// In how many splits a call visits the keys of its tiles: the template's splits_of (arguments.cuh),
// which see. 1 if the schedule has none.
int64_t splits_of(const Schedule& schedule, const Resources& resources, const SplitHeads& heads,
                  const spec::Workload& call);

// Bytes of what a split leaves of a row: its output, the call's number, and `reductions` values.
int64_t part_bytes(int head_dim_v, size_t reductions);

}  // namespace attngen::schedule
