#include "schedule/kernel_rows.h"

#include <span>

#include "schedule/units.h"

namespace attngen::schedule {
namespace {

// The points at which tiles of packed heads can be.
std::span<const spec::Workload> packed_workload(const Kernel& kernel) {
  return kernel.group() > 1 || kernel.list_room > 0 ? std::span(kernel.workload)
                                                    : std::span<const spec::Workload>{};
}

}  // namespace

KernelRows::KernelRows(const Kernel& kernel, int64_t most)
    : apart_(kernel.range, kernel.workload, most, kWarpgroupRows, kernel.mask_heads),
      packed_(kernel.range, packed_workload(kernel), most,
              kernel.list_room > 0 ? 1 : kWarpgroupRows / packed_rows(kernel.group()),
              kernel.mask_heads) {}

const TileRows& KernelRows::of(const Schedule& s, const spec::Workload& point) const {
  return (s.pack_heads ? packed_ : apart_).of(masked_call(point), s.row_blocks());
}

}  // namespace attngen::schedule
