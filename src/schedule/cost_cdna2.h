// The predicted time of a CDNA2 kernel: the sum of its waves' issue slots, as SIMDs overlap them.
#pragma once

#include <array>
#include <vector>

#include "schedule/rows.h"
#include "schedule/schedule.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::schedule {

class CostModelCdna2 {
 public:
  CostModelCdna2(const Kernel& kernel, const target::Target& target);
  Cost operator()(const Schedule& schedule, const Resources& resources) const;
  bool uneven_tiles() const { return uneven_; }

 private:
  const Kernel& kernel_;
  const target::Target& target_;
  bool uneven_ = false;
  std::vector<std::array<TileRows, 4>> rows_;  // by workload point and warpgroups - 1
  std::vector<double> pairs_;                  // that exist in one head, by workload point
};

}  // namespace attngen::schedule
