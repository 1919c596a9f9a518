#include "schedule/workload_rows.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "attention/given.h"

namespace attngen::schedule {

int64_t rows_of_each(std::span<const spec::Workload> workload, int64_t most) {
  // Of fewer, a mask that repeats itself shows a random part: of 4 rows of 65536 the search saw two
  // thirds of a dilated mask's time.
  constexpr int64_t kLeast = 32;
  std::set<MaskedCall> calls;
  for (const spec::Workload& point : workload) calls.insert(masked_call(point));
  return std::max(kLeast, most / std::max<int64_t>(1, static_cast<int64_t>(calls.size())));
}

WorkloadRows::WorkloadRows(const attention::KeyRange& range,
                           std::span<const spec::Workload> workload, int64_t most, int part_q,
                           const MaskHeads& heads)
    : range_(range), workload_(workload), most_(most), part_q_(part_q), heads_(heads) {}

const TileRows& WorkloadRows::of(const MaskedCall& call, int parts) const {
  std::optional<TileRows>& rows = rows_[call][static_cast<size_t>(parts - 1)];
  if (!rows) {
    rows = tile_rows(attention::given(range_, call.values), call.seq_q, call.seq_kv,
                     part_q_ * parts, most_, part_q_, heads_);
  }
  return *rows;
}

bool WorkloadRows::uneven() const {
  return std::ranges::any_of(workload_, [this](const spec::Workload& point) {
    return schedule::uneven(of(masked_call(point), 1));
  });
}

}  // namespace attngen::schedule
