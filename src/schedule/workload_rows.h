// The rows of tiles of a workload, each evaluated when it is first asked for: whoever judges one
// schedule asks for one height of tiles, and a mask's bounds over many rows are most of the work.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "attention/tiles.h"
#include "schedule/rows.h"
#include "spec/spec.h"

namespace attngen::schedule {

// What a call's mask depends on, as far as it is known. Points of a workload that agree in it have
// the same rows, which are evaluated once.
struct MaskedCall {
  int64_t seq_q = 0, seq_kv = 0;
  spec::Values values;
  // A default has no null pointers.
  auto operator<=>(const MaskedCall&) const = default;  // NOLINT(modernize-use-nullptr)
};
inline MaskedCall masked_call(const spec::Workload& point) {
  return {point.seq_q, point.seq_kv, point.values};
}

// Rows that are evaluated of each point, of `most` over all: different calls share them, down to
// as many as a point needs.
int64_t rows_of_each(std::span<const spec::Workload> workload, int64_t most);

class WorkloadRows {
 public:
  // At most `most` rows of a point; `part_q` as tile_rows has it. What it is given must outlive it.
  WorkloadRows(const attention::KeyRange& range, std::span<const spec::Workload> workload,
               int64_t most, int part_q, const MaskHeads& heads = {});

  // Of tiles that are so many parts high, 1 to 4.
  const TileRows& of(const MaskedCall& call, int parts) const;
  // Whether at some point tiles have different numbers of keys.
  bool uneven() const;

 private:
  using Heights = std::array<std::optional<TileRows>, 4>;  // by parts - 1

  const attention::KeyRange& range_;
  std::span<const spec::Workload> workload_;
  int64_t most_;
  int part_q_;
  MaskHeads heads_;
  mutable std::map<MaskedCall, Heights> rows_;
};

}  // namespace attngen::schedule
