#include "schedule/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention/fixed_max.h"
#include "attention/interval_mask.h"
#include "attention/pair_form.h"
#include "schedule/cost.h"
#include "schedule/cost_cdna2.h"
#include "schedule/resources.h"
#include "schedule/space.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

std::string no_family(const target::Target& target) {
  return fmt::format("no template family for {} yet", target.name);
}

// Two limits of the row.
constexpr expr::OperationCounts kIntervalTest{0, 0, 2, 0};

void add(expr::OperationCounts& sum, const expr::OperationCounts& n) {
  sum.special += n.special;
  sum.multiply += n.multiply;
  sum.logic += n.logic;
  sum.load += n.load;
}

// The heads of a tile visit the same blocks of keys. The template has no packed form of what else
// makes tiles or finds blocks.
std::string why_heads_apart(const spec::Spec& spec, const Kernel& kernel) {
  if (kernel.maps > 1) return "the warpgroups of a tile share out the maps of one head";
  if (expr::mentions(spec.mask, "h")) return "the mask reads h: heads may need different keys";
  if (kernel.varlen) return "heads are not packed in packed sequences (varlen)";
  if (kernel.value_parts > 1) return "heads are not packed where values need several accumulators";
  if (kernel.block_size > 0 && !kernel.group_blocks) return "each head keeps blocks of its own";
  if (attention::pair_input(spec)) return "each head has biases of its own";
  if (kernel.walks && !kernel.id_tables) {
    return "heads are not packed where a mask's blocks are searched or tested";
  }
  return {};
}

// A step takes two blocks that do not stand side by side, but not what is loaded with them.
std::string why_blocks_apart(const spec::Spec& spec, const Kernel& kernel) {
  if (attention::pair_input(spec)) return "biases are loaded for one at a time";
  if (kernel.key_rows > 0) return "an input's elements are read from one address on";
  if (kernel.value_parts > 1) return "the values need several accumulators";
  return {};
}

void add_variants(const Kernel& kernel, const target::Target& target, const CostModel& cost,
                  const Schedule& tile, Ranking& ranking) {
  for (const Schedule& variant : variants(tile)) {
    Fit fit = fit_hopper(kernel, variant, target);
    if (!fit.resources) {
      ranking.rejected.push_back({variant, std::move(fit.reason)});
      continue;
    }
    const Cost predicted = cost(variant, *fit.resources);
    ranking.ranked.push_back({variant, std::move(*fit.resources), predicted});
  }
}

void add_tiles(const Kernel& kernel, const target::Target& target, const CostModel& cost,
               std::span<const int> tiles_kv, bool pack_heads, Ranking& ranking) {
  std::vector<Candidate> fitting;  // one of each tile and way that fits
  for (const Way& way : ways()) {
    for (Schedule tile : tiles(way, tiles_kv, cost.uneven_tiles(pack_heads))) {
      tile.maps = kernel.maps;
      tile.pack_heads = pack_heads;
      if (pack_heads && !worth_packing(tile, kernel)) continue;
      if (std::ranges::any_of(fitting, [&](const Candidate& c) {
            return c.schedule.warpgroups == tile.warpgroups && c.schedule.tile_kv == tile.tile_kv &&
                   dominates({c.schedule.weights, c.schedule.overlap}, way);
          })) {
        continue;
      }
      Fit fit = fit_hopper(kernel, tile, target);
      if (!fit.resources) {
        ranking.rejected.push_back({tile, std::move(fit.reason)});
        continue;
      }
      fitting.push_back({tile, std::move(*fit.resources), {}});
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

namespace {

// The product itself, but for a factor.
bool is_product(const expr::Expr& score) {
  return score.op() == expr::Op::Multiply && score.operand(0).op() == expr::Op::Variable &&
         score.operand(0).name() == attention::kProduct && score.operand(1).is_number();
}

// The user's functions, per pair: what a kernel computes beyond the plain product's exponent or
// weight.
void count_functions(const spec::Spec& spec, const attention::PairForm& pairs,
                     target::Family family, Kernel& kernel) {
  // What varies along a row.
  const std::vector<std::string> pair{"score", "kv_idx", attention::kProduct, attention::kColumn,
                                      attention::kBias};
  // CDNA2 has no tanh: an exponential and a reciprocal in both storage types.
  const auto accuracy = spec.dtype == spec::DType::Bf16 && family == target::Family::Hopper
                            ? expr::Accuracy::Bf16
                            : expr::Accuracy::Full;
  if (pairs.score) kernel.score = expr::count(pairs.score, pair, accuracy);
  if (pairs.affine) kernel.score.multiply -= 1;  // in the place of the exponent's own multiply-add
  kernel.key_rows = static_cast<int>(pairs.key_rows.size());
  kernel.key_loads = static_cast<int>(kernel.score.load);
  if (!kernel.rows.exponential) {
    kernel.weight = expr::count(pairs.weight, pair, accuracy);
    kernel.key_loads += static_cast<int>(kernel.weight.load);
    for (size_t i = 0; i < pairs.elements.size(); ++i) {
      add(kernel.weight, expr::count(pairs.elements[i], pair, accuracy));
      // The reduction itself: a maximum or a sum; pairs are counted by the block.
      const attention::Reduction& reduction = kernel.rows.reductions[i];
      if (reduction.element.is_number()) continue;
      (reduction.kind == attention::Reduction::Kind::Max ? kernel.weight.logic
                                                         : kernel.weight.multiply) += 1;
    }
    // Two columns share a reciprocal, for half of four products and of a maximum.
    const bool one_pass = std::ranges::all_of(kernel.rows.reductions, [](const auto& reduction) {
      return reduction.element.is_number();
    });
    kernel.shares_reciprocals =
        family == target::Family::Hopper && one_pass && attention::logistic_exponent(pairs.weight);
    if (kernel.shares_reciprocals) add(kernel.weight, {-0.5, 2, 0.5, 0});
  }
  kernel.key_loads -= std::min(kernel.key_loads, kernel.key_rows);
  const int qk = spec.head_dim.qk, v = spec.head_dim.v;
  // Rows of a state are columns of the values; a tile of wide ones takes those of its part.
  const ValueParts parts = value_parts(v);
  kernel.has_far = pairs.far && qk % kStateRows == 0 && parts.columns % kStateRows == 0 &&
                   parts.columns * parts.count == v;
  kernel.has_near = pairs.near_cap || pairs.near_logistic;
  if (pairs.near_cap) kernel.near = {0, 2, 0, 0};  // beside the exponent's own multiply-add
  if (pairs.near_logistic) {
    kernel.near = expr::count(pairs.near_logistic->exponent, pair, accuracy);
    add(kernel.near, {1, 1, 0.5, 0});  // the power and its square; half of a maximum of three
  }
  if (pairs.bias) {
    using Kind = spec::Input::Dim::Kind;
    const auto has = [&](Kind kind) {
      return std::ranges::any_of(pairs.bias->input.shape,
                                 [&](const spec::Input::Dim& dim) { return dim.kind == kind; });
    };
    kernel.bias_sharing = has(Kind::Heads)     ? 1
                          : has(Kind::HeadsKv) ? kernel.group()
                                               : kernel.heads_q;
    kernel.bias_bytes = pairs.bias->input.element == spec::Input::Element::F32 ? 4 : 2;
    // A load for two columns of a row; of 16 bits an ldmatrix for eight, a conversion each, and
    // half of an operation more for addresses: 46 where there are 32 conversions.
    add(kernel.score, kernel.bias_bytes == 4 ? expr::OperationCounts{0, 0, 0, 0.5}
                                             : expr::OperationCounts{0, 0, 1.5, 0.125});
  }
  kernel.plain_score = pairs.affine || !pairs.score || is_product(pairs.score);
  kernel.row_constants = static_cast<int>(pairs.constants.size() + pairs.lines.size());
  kernel.indexed_score = pairs.reads("kv_idx");
  if (!kernel.range.always_full) {
    kernel.mask = kernel.tested_mask ? expr::count(pairs.mask, pair) : kIntervalTest;
  }
  kernel.mask.logic += 1;  // the select
}

}  // namespace

Kernel describe_kernel(const spec::Spec& spec, const attention::RowForm& rows,
                       target::Family family) {
  Kernel kernel;
  kernel.head_dim_qk = spec.head_dim.qk;
  const ValueParts parts = value_parts(spec.head_dim.v);
  kernel.head_dim_v = parts.columns;
  kernel.value_parts = parts.count;
  kernel.heads_q = spec.heads.q;
  kernel.heads_kv = spec.heads.kv();
  kernel.maps = spec.maps;
  kernel.bf16 = spec.dtype == spec::DType::Bf16;
  kernel.range = attention::key_range(spec.mask, spec.inputs);
  kernel.rows = rows;
  kernel.fixed_max = attention::may_fix_max(rows);
  kernel.searched_limits = family == target::Family::Hopper && rows.exponential &&
                           spec.block_size == 0 && attention::has_searched_limits(kernel.range);
  kernel.tested_mask = !attention::has_row_limits(kernel.range) && !kernel.searched_limits;
  const auto test = attention::block_test(spec.mask, spec.inputs, !spec.varlen);
  const bool searches = attention::searches(kernel.range);
  kernel.walks = searches || test;
  kernel.id_tables = !searches && test && !test->tables.empty();
  // Closed: what inputs decide is not known before the call.
  if (family == target::Family::Hopper && spec.block_size == 0 && test &&
      expr::inputs_of(test->kept).empty() && expr::inputs_of(test->full).empty()) {
    kernel.test = test;
  }
  kernel.workload = spec.workload;
  kernel.varlen = spec.varlen;
  kernel.block_size = spec.block_size;
  kernel.group_blocks = spec.block_size > 0 && spec.block_heads == spec.heads.kv();
  kernel.heads_apart = why_heads_apart(spec, kernel);
  count_functions(spec, attention::pair_form(spec, rows, pair_abilities(family, true, true)),
                  family, kernel);
  kernel.apart_blocks = why_blocks_apart(spec, kernel);
  return kernel;
}

attention::PairAbilities pair_abilities(target::Family family, bool near, bool far) {
  if (family != target::Family::Hopper) return {};
  return {.near = near, .far = far, .bias = true, .key_rows = true, .rounds_positive_part = true};
}

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
  for (const Schedule& tile : tiles_cdna2(cost.uneven_tiles())) {
    Fit fit = fit_cdna2(kernel, tile, target);
    if (!fit.resources) {
      ranking.rejected.push_back({tile, std::move(fit.reason)});
      continue;
    }
    const Cost predicted = cost(tile, *fit.resources);
    ranking.ranked.push_back({tile, std::move(*fit.resources), predicted});
  }
  rank(ranking);
  return ranking;
}

template <typename Model>
Judged judged(const Kernel& kernel, const Schedule& schedule, const target::Target& target,
              Fit fit) {
  if (!fit.resources) return {schedule, std::nullopt, std::move(fit.reason)};
  const Cost predicted = Model(kernel, target)(schedule, *fit.resources);
  return {schedule, Candidate{schedule, std::move(*fit.resources), predicted}, ""};
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
  schedule.maps = kernel.maps;
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
