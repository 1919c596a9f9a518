// The rows of a kernel's tiles, by schedule: of one head, or of the heads that share a key head.
#pragma once

#include <cstdint>

#include "schedule/rows.h"
#include "schedule/schedule.h"
#include "schedule/search.h"
#include "schedule/workload_rows.h"

namespace attngen::schedule {

class KernelRows {
 public:
  // At most `most` rows of a point. The kernel must outlive it.
  KernelRows(const Kernel& kernel, int64_t most);

  const TileRows& of(const Schedule& schedule, const spec::Workload& point) const;
  // Whether at some point tiles have different numbers of keys.
  bool uneven(bool pack_heads) const { return (pack_heads ? packed_ : apart_).uneven(); }

 private:
  WorkloadRows apart_, packed_;
};

}  // namespace attngen::schedule
