// The rows of tiles of a workload, each evaluated when it is first asked for: whoever judges one
// schedule asks for one height of tiles, and a mask's bounds over many rows are most of the work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/tiles.h"
#include "schedule/rows.h"
#include "spec/spec.h"

namespace attngen::schedule {

class WorkloadRows {
 public:
  // At most `most` rows of a point; `part_q` as tile_rows has it. What it is given must outlive it.
  WorkloadRows(const attention::KeyRange& range, std::span<const spec::Workload> workload,
               int64_t most, int part_q);

  // Of tiles that are so many parts high, 1 to 4, at a point of the workload.
  const TileRows& of(size_t point, int parts) const;
  // Whether at some point tiles have different numbers of keys.
  bool uneven() const;

 private:
  using Heights = std::array<std::optional<TileRows>, 4>;  // by parts - 1

  const attention::KeyRange& range_;
  std::span<const spec::Workload> workload_;
  int64_t most_;
  int part_q_;
  mutable std::vector<Heights> points_;
};

}  // namespace attngen::schedule
