#include "schedule/workload_rows.h"

#include <algorithm>
#include <cstddef>
#include <set>

namespace attngen::schedule {

int64_t rows_of_each(std::span<const spec::Workload> workload, int64_t most) {
  // Of fewer, a mask that repeats itself shows a random part: of 4 rows of 65536 the search saw two
  // thirds of a dilated mask's time.
  constexpr int64_t kLeast = 32;
  std::set<Lengths> lengths;
  for (const spec::Workload& point : workload) lengths.insert(lengths_of(point));
  return std::max(kLeast, most / std::max<int64_t>(1, static_cast<int64_t>(lengths.size())));
}

WorkloadRows::WorkloadRows(const attention::KeyRange& range,
                           std::span<const spec::Workload> workload, int64_t most, int part_q,
                           const MaskHeads& heads)
    : range_(range), workload_(workload), most_(most), part_q_(part_q), heads_(heads) {}

const TileRows& WorkloadRows::of(const Lengths& lengths, int parts) const {
  std::optional<TileRows>& rows = rows_[lengths][static_cast<size_t>(parts - 1)];
  if (!rows) {
    rows =
        tile_rows(range_, lengths.first, lengths.second, part_q_ * parts, most_, part_q_, heads_);
  }
  return *rows;
}

bool WorkloadRows::uneven() const {
  return std::ranges::any_of(workload_, [this](const spec::Workload& point) {
    return schedule::uneven(of(lengths_of(point), 1));
  });
}

}  // namespace attngen::schedule
