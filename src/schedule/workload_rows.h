// The rows of tiles of a workload, each evaluated when it is first asked for: whoever judges one
// schedule asks for one height of tiles, and a mask's bounds over many rows are most of the work.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "attention/tiles.h"
#include "schedule/rows.h"
#include "spec/spec.h"

namespace attngen::schedule {

// Queries and keys. Points of a workload that agree in them have the same rows, which are
// evaluated once.
using Lengths = std::pair<int64_t, int64_t>;
inline Lengths lengths_of(const spec::Workload& point) { return {point.seq_q, point.seq_kv}; }

// Rows that are evaluated of each point, of `most` over all: different lengths share them, down to
// as many as a point needs.
int64_t rows_of_each(std::span<const spec::Workload> workload, int64_t most);

class WorkloadRows {
 public:
  // At most `most` rows of a point; `part_q` as tile_rows has it. What it is given must outlive it.
  WorkloadRows(const attention::KeyRange& range, std::span<const spec::Workload> workload,
               int64_t most, int part_q, const MaskHeads& heads = {});

  // Of tiles that are so many parts high, 1 to 4.
  const TileRows& of(const Lengths& lengths, int parts) const;
  // Whether at some point tiles have different numbers of keys.
  bool uneven() const;

 private:
  using Heights = std::array<std::optional<TileRows>, 4>;  // by parts - 1

  const attention::KeyRange& range_;
  std::span<const spec::Workload> workload_;
  int64_t most_;
  int part_q_;
  MaskHeads heads_;
  mutable std::map<Lengths, Heights> rows_;
};

}  // namespace attngen::schedule
