// The predicted time of a CDNA2 kernel: the sum of its waves' issue slots, as SIMDs overlap them.
#pragma once

#include <cstdint>
#include <map>

#include "schedule/kernel_rows.h"
#include "schedule/point_cost.h"
#include "schedule/rows.h"
#include "schedule/schedule.h"
#include "schedule/search.h"
#include "schedule/step_cdna2.h"
#include "schedule/workload_rows.h"
#include "target/target.h"

namespace attngen::schedule {

class CostModelCdna2 {
 public:
  CostModelCdna2(const Kernel& kernel, const target::Target& target);
  Cost operator()(const Schedule& schedule, const Resources& resources) const;
  bool uneven_tiles(bool pack_heads) const { return rows_.uneven(pack_heads); }

 private:
  // What has tiles of its own: a query head, or the group that shares them.
  double tile_heads(const Schedule& schedule, const spec::Workload& w) const;
  double tiles_of_cu(const Schedule& schedule, const spec::Workload& w) const;
  // Of which so many at a time.
  double resident(const Schedule& schedule, const Resources& resources,
                  const spec::Workload& w) const;
  PointCost point(const Schedule& schedule, const Resources& resources, const StepCdna2& full,
                  const StepCdna2& cut, const spec::Workload& w) const;
  // Of `blocks` of keys, where a CU has `together` tiles at a time.
  void add_traffic(PointCost& point, const Schedule& schedule, const spec::Workload& w,
                   double together, double blocks) const;

  const Kernel& kernel_;
  const target::Target& target_;
  int64_t most_rows_;  // that are evaluated, of each point
  KernelRows rows_;
  std::map<MaskedCall, double> pairs_;  // that exist in one head
};

}  // namespace attngen::schedule
