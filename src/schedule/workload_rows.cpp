#include "schedule/workload_rows.h"

namespace attngen::schedule {

WorkloadRows::WorkloadRows(const attention::KeyRange& range,
                           std::span<const spec::Workload> workload, int64_t most, int part_q)
    : range_(range), workload_(workload), most_(most), part_q_(part_q), points_(workload.size()) {}

const TileRows& WorkloadRows::of(size_t point, int parts) const {
  std::optional<TileRows>& rows = points_[point][static_cast<size_t>(parts - 1)];
  if (!rows) {
    const spec::Workload& w = workload_[point];
    rows = tile_rows(range_, w.seq_q, w.seq_kv, part_q_ * parts, most_, part_q_);
  }
  return *rows;
}

bool WorkloadRows::uneven() const {
  for (size_t point = 0; point < points_.size(); ++point) {
    if (schedule::uneven(of(point, 1))) return true;
  }
  return false;
}

}  // namespace attngen::schedule
