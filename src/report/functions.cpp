#include "report/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "attention/output_columns.h"
#include "attention/pair_form.h"
#include "expr/count.h"
#include "expr/ops.h"
#include "expr/print.h"
#include "schedule/scan.h"
#include "schedule/search.h"
#include "schedule/units.h"

namespace attngen::report {
namespace {

using expr::Expr;

bool is_call(const Expr& e) {
  return !e.operands().empty() && e.op() != expr::Op::Load && e.op() != expr::Op::Select &&
         e.op() != expr::Op::ToFloat && e.op() != expr::Op::Not &&
         expr::precedence_of(e.op()) == expr::Precedence::Primary;
}

// How often each function is called for a pair or for an element of O, shared calls once.
void count_calls(const Expr& e, std::set<const void*>& seen, std::map<std::string, int>& calls) {
  if (!seen.insert(e.identity()).second) return;
  const bool varies =
      attention::varies_in_row(e) ||
      std::ranges::any_of(attention::element_variables(),
                          [&](const std::string& name) { return expr::mentions(e, name); });
  if (varies && is_call(e)) ++calls[std::string(expr::spelling(e.op()))];
  for (const Expr& operand : e.operands()) count_calls(operand, seen, calls);
}

// "2 special functions, 0.5 loads": to tenths, since pairs share some.
std::string text_of(const expr::OperationCounts& counts) {
  std::vector<std::string> texts;
  const auto add = [&](double count, std::string_view one, std::string_view several) {
    const double n = std::round(10 * count) / 10;
    if (n > 0) texts.push_back(fmt::format("{} {}", n, n == 1 ? one : several));
  };
  add(counts.special, "special function", "special functions");
  add(counts.multiply, "multiply-add", "multiply-adds");
  add(counts.logic, "integer operation", "integer operations");
  add(counts.load, "load", "loads");
  return fmt::format("{}", fmt::join(texts, ", "));
}

// What a pair has left of the user's function: what it shares with others is said apart.
const Expr& written(const Expr& by_user, const Expr& of_pair) {
  const bool shares = of_pair && (expr::mentions(of_pair, attention::kOfKey) ||
                                  expr::mentions(of_pair, attention::kOfDistance));
  return shares ? of_pair : by_user;
}

// `counts`: of what a kernel computes for `written`.
std::string line(std::string_view name, const Expr& written, std::string_view where,
                 const expr::OperationCounts& counts) {
  const std::string costs = text_of(counts);
  if (costs.empty()) return "";
  std::map<std::string, int> calls;
  std::set<const void*> seen;
  count_calls(written, seen, calls);
  std::vector<std::string> named;
  named.reserve(calls.size());
  for (const auto& [function, times] : calls)
    named.push_back(fmt::format("{} {}", times, function));
  return fmt::format("the {} adds {}to {}: {}\n", name,
                     named.empty() ? "" : fmt::format("{} ", fmt::join(named, ", ")), where, costs);
}

std::string far_text(const spec::Spec& spec, const attention::FarForm& far) {
  const int sums = attention::sums_of_products(far.sums);
  return fmt::format(
      "from {} queries on, whole chunks of {} keys behind a tile come as a state: {}\n",
      schedule::fewest_far_queries(sums > 0, spec.head_dim.qk),
      schedule::chunk_keys(spec.head_dim.qk),
      sums == 0   ? "no product a pair"
      : sums == 1 ? "one product and 1 multiply-add a pair"
                  : fmt::format("one product and {} multiply-adds a pair", sums));
}

std::string scan_text(const spec::Spec& spec) {
  const int parts = schedule::scan_parts(spec.head_dim.v);
  return fmt::format(
      "calls of as many keys as queries, {} or more, and {} heads or more of all batches for each "
      "{} begun go along heads by chunks of {} instead: no state leaves a core\n",
      schedule::fewest_scan_rows(parts), (schedule::fewest_scans(parts) + parts - 1) / parts,
      schedule::kScanWave / parts, schedule::kScanRows);
}

// What pairs do not compute each for itself, or in a cheaper way.
std::string savings_text(const spec::Spec& spec, const attention::PairForm& pairs,
                         const schedule::Kernel& kernel, bool scans) {
  std::string text;
  if (pairs.bias) {
    text += fmt::format("{} comes by tiles, with the keys\n", expr::print_brief(pairs.bias->load));
  }
  if (!pairs.row_tables.empty()) {
    std::vector<std::string> names;
    for (const attention::RowTable& table : pairs.row_tables) names.push_back(table.first.name());
    text += fmt::format("a tile's queries keep their rows of {} in shared memory: {} bytes each\n",
                        fmt::join(names, ", "), kernel.table_bytes);
  }
  if (spec.gathers_lists()) {
    text +=
        "a tile's keys are those of one query's list, gathered row by row; which of them are keys, "
        "and the mask leaves, comes with them: a bit each\n";
  } else if (pairs.mask_bits) {
    text +=
        "the mask comes by tiles, with the keys: a bit for each pair, made by a kernel before\n";
  }
  for (const expr::Expr& value : pairs.of_key) {
    text += fmt::format("computed once for a warpgroup's rows{}: {}\n",
                        kernel.strip_heads > 1 ? " of each head" : "", expr::print_brief(value));
  }
  if (pairs.of_distance) {
    text += fmt::format("computed once for the pairs of a warpgroup that are as far apart: {}\n",
                        expr::print_brief(pairs.of_distance));
  }
  if (pairs.level) {
    std::vector<std::string> indices;
    for (const expr::Expr& index : pairs.level->indices) {
      indices.push_back(expr::print_brief(index));
    }
    text += fmt::format("as plain softmax in blocks where the same for a row's keys: {}\n",
                        fmt::join(indices, ", "));
  }
  if (pairs.near_cap) {
    text += fmt::format("near 0, where its rows mostly are, a cubic takes the tanh's place: {}\n",
                        text_of(kernel.near));
  }
  if (pairs.near_logistic) {
    text += fmt::format(
        "while all of a block's weights are small, an exponential takes the sigmoid's place: {}\n",
        text_of(kernel.near));
  }
  if (pairs.far) text += far_text(spec, *pairs.far);
  if (scans) text += scan_text(spec);
  if (pairs.positive_part) text += "the relu is taken where weights are rounded, at no cost\n";
  if (!pairs.constants.empty()) {
    std::vector<std::string> constants;
    for (const spec::NamedExpr& constant : pairs.constants) {
      constants.push_back(expr::print_brief(constant.value));
    }
    text += fmt::format("computed once for a row: {}\n", fmt::join(constants, "; "));
  }
  return text;
}

// What keeps weights that could have states from having them.
std::string far_obstacle_text(const spec::Spec& spec, const attention::RowForm& rows,
                              const schedule::Kernel& kernel) {
  const attention::PairForm pairs = attention::pair_form(spec, rows, {.far = true});
  const char* obstacle = pairs.far_obstacle;
  if (pairs.far && kernel.has_far) {
    obstacle = "none under this schedule; longer calls may ask for a workload of their own";
  } else if (pairs.far) {
    const bool by_64 = spec.head_dim.qk % 64 == 0 && spec.head_dim.v % 64 == 0;
    obstacle = spec.v_prefix ? "values are columns of the keys"
               : by_64       ? "of values wider than 256 only 384 and 512 have states"
                             : "head dims are no multiples of 64";
  }
  return obstacle == nullptr
             ? ""
             : fmt::format("keys far behind a tile come as no state: {}\n", obstacle);
}

}  // namespace

std::string functions_text(const spec::Spec& spec, target::Family family,
                           const schedule::Schedule& schedule, const schedule::Forms& forms) {
  if (!spec.score || !spec.mask || !spec.normalize.weight) return "";
  const auto derived = attention::derive_row_form(spec.normalize);
  const auto* rows = std::get_if<attention::RowForm>(&derived);
  if (rows == nullptr) return "";
  const attention::PairForm pairs =
      attention::pair_form(spec, *rows, schedule::pair_abilities(family, forms));
  const schedule::Kernel described = schedule::describe_kernel(spec, *rows, family);
  const schedule::Kernel& kernel = described.of(schedule, forms.tables);
  std::string text;
  if (spec.score.op() != expr::Op::Variable) {
    text += line("score", written(spec.score, pairs.score), "a pair", kernel.score);
  }
  if (kernel.masked) {
    // Else a pair is told by its row's limits, or by a bit, and calls none of the mask's functions.
    const bool is_asked = kernel.tested_mask && !kernel.mask_bits;
    text += line("mask", is_asked ? spec.mask : expr::boolean(true),
                 "a pair of a block that it cuts", kernel.mask);
  }
  // What a row's reductions take of a pair is counted with its weight.
  text += line(rows->reductions.empty() ? "weight" : "normaliser",
               written(spec.normalize.weight, pairs.weight), "a pair", kernel.weight);
  text += line("output", spec.normalize.output, "an element of O", kernel.output);
  text += savings_text(spec, pairs, kernel, schedule.scan);
  if (family == target::Family::Hopper && !forms.far)
    text += far_obstacle_text(spec, *rows, kernel);
  return text;
}

}  // namespace attngen::report
