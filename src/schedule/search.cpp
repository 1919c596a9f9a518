#include "schedule/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "schedule/cost.h"
#include "schedule/cost_cdna2.h"
#include "schedule/resources.h"
#include "schedule/space.h"

namespace attngen::schedule {
namespace {

std::string no_family(const target::Target& target) {
  return fmt::format("no template family for {} yet", target.name);
}

// Ranks a schedule that fits, and says what it needs; one that does not is rejected. It has a scan
// beside if it can: calls that tiles serve better do without.
std::optional<Resources> consider(const Kernel& kernel, const target::Target& target,
                                  const CostModel& cost, Schedule schedule, Ranking& ranking) {
  Fit fit = fit_hopper(kernel, schedule, target);
  if (fit.resources) {
    schedule.scan = takes_scan(kernel, schedule, *fit.resources);
    ranking.ranked.push_back({schedule, *fit.resources, cost(schedule, *fit.resources)});
  } else {
    ranking.rejected.push_back({schedule, std::move(fit.reason)});
  }
  return fit.resources;
}

// With its keys split too, where some call of the workload would.
void add_variants(const Kernel& kernel, const target::Target& target, const CostModel& cost,
                  const Schedule& tile, Ranking& ranking) {
  for (Schedule variant : variants(tile)) {
    const auto resources = consider(kernel, target, cost, variant, ranking);
    if (!resources || !worth_splitting(variant, *resources, kernel)) continue;
    variant.split_keys = true;
    consider(kernel, target, cost, variant, ranking);
  }
}

// Without overlap there may be registers for the cheap form of a soft cap. H200, 2026-11-28 (a
// throw-away script): 32 x 12 heads of 512, head dim 64, capped: 256x64 without overlap 0.070 ms,
// with it and the hardware's tanh 0.089.
bool has_quicker_form(const Fit& fit, const Resources& other) {
  return fit.resources && fit.resources->forms.near && !other.forms.near;
}

void add_tiles(const Kernel& kernel, const target::Target& target, const CostModel& cost,
               std::span<const int> tiles_kv, bool pack_heads, Ranking& ranking) {
  const std::span<const Order> orders = cost.orders(pack_heads);
  std::vector<Candidate> fitting;  // one of each tile and way that fits
  for (const Way& way : ways()) {
    for (Schedule tile : tiles(way, tiles_kv, orders)) {
      tile.partners = kernel.partners();
      tile.one_query = kernel.list_room > 0;
      tile.lists_as_mask = kernel.masked_room > 0;
      tile.pack_heads = pack_heads;
      if (pack_heads && !worth_packing(tile, kernel)) continue;
      Fit fit = fit_hopper(kernel, tile, target);
      if (std::ranges::any_of(fitting, [&](const Candidate& c) {
            return c.schedule.warpgroups == tile.warpgroups && c.schedule.tile_kv == tile.tile_kv &&
                   c.schedule.order == tile.order &&
                   dominates({c.schedule.weights, c.schedule.overlap}, way) &&
                   !has_quicker_form(fit, c.resources);
          })) {
        continue;
      }
      if (!fit.resources) {
        ranking.rejected.push_back({tile, std::move(fit.reason)});
        continue;
      }
      fitting.push_back({tile, *fit.resources, {}});
      add_variants(kernel, target, cost, tile, ranking);
      for (const int stages : kDeepStages) {
        tile.stages = stages;
        if (!fit_hopper(kernel, tile, target).resources) continue;
        add_variants(kernel, target, cost, tile, ranking);
        break;
      }
    }
  }
}

}  // namespace

const char* bound_name(const Cost& cost) {
  const bool amd = cost.family == target::Family::Cdna2;
  switch (cost.bound) {
    case Bound::Matrix:
      return amd ? "matrix cores" : "tensor cores";
    case Bound::Special:
      return "exponentials";
    case Bound::Issue:
      return "arithmetic";
    case Bound::Shared:
      return amd ? "LDS" : "shared memory";
    case Bound::L2:
      return "L2";
    case Bound::Memory:
      return "memory";
    case Bound::Latency:
      return "latency";
  }
  return "";
}

namespace {

void rank(Ranking& ranking) {
  std::stable_sort(
      ranking.ranked.begin(), ranking.ranked.end(),
      [](const Candidate& a, const Candidate& b) { return a.cost.seconds < b.cost.seconds; });
}

Ranking search_hopper(const Kernel& kernel, const target::Target& target) {
  Ranking ranking;
  const CostModel cost(kernel, target);
  for (const auto tiles_kv :
       {std::span<const int>(kTilesKv), std::span<const int>(kLeastTilesKv)}) {
    if (!ranking.ranked.empty()) break;
    for (const bool pack_heads : {false, true}) {
      add_tiles(kernel, target, cost, tiles_kv, pack_heads, ranking);
    }
  }
  rank(ranking);
  return ranking;
}

Ranking search_cdna2(const Kernel& kernel, const target::Target& target) {
  Ranking ranking;
  const CostModelCdna2 cost(kernel, target);
  for (const bool pack_heads : {false, true}) {
    for (Schedule tile : tiles_cdna2(cost.uneven_tiles(pack_heads))) {
      tile.pack_heads = pack_heads;
      if (pack_heads && !worth_packing(tile, kernel)) continue;
      Fit fit = fit_cdna2(kernel, tile, target);
      if (!fit.resources) {
        ranking.rejected.push_back({tile, std::move(fit.reason)});
        continue;
      }
      const Cost predicted = cost(tile, *fit.resources);
      ranking.ranked.push_back({tile, *fit.resources, predicted});
    }
  }
  rank(ranking);
  return ranking;
}

template <typename Model>
Judged judged(const Kernel& kernel, const Schedule& schedule, const target::Target& target,
              Fit fit) {
  if (!fit.resources) return {schedule, std::nullopt, std::move(fit.reason)};
  const Cost predicted = Model(kernel, target)(schedule, *fit.resources);
  return {schedule, Candidate{schedule, *fit.resources, predicted}, ""};
}

}  // namespace

Ranking search(const Kernel& kernel, const target::Target& target) {
  switch (target.family) {
    case target::Family::Hopper:
      return search_hopper(kernel, target);
    case target::Family::Cdna2:
      return search_cdna2(kernel, target);
    case target::Family::Ampere:
      break;
  }
  return {{}, {{Schedule{}, no_family(target)}}};
}

Judged judge(const Kernel& kernel, const Schedule& given, const target::Target& target) {
  Schedule schedule = given;
  schedule.partners = kernel.partners();
  schedule.one_query = kernel.list_room > 0;
  switch (target.family) {
    case target::Family::Hopper:
      return judged<CostModel>(kernel, schedule, target, fit_hopper(kernel, schedule, target));
    case target::Family::Cdna2:
      return judged<CostModelCdna2>(kernel, schedule, target, fit_cdna2(kernel, schedule, target));
    case target::Family::Ampere:
      break;
  }
  return {schedule, std::nullopt, no_family(target)};
}

}  // namespace attngen::schedule
