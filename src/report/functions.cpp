#include "report/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "attention/interval_mask.h"
#include "attention/pair_form.h"
#include "expr/count.h"
#include "expr/ops.h"
#include "expr/print.h"
#include "schedule/search.h"
#include "schedule/units.h"

namespace attngen::report {
namespace {

using expr::Expr;

// Of a pair, where its row's first and last key are searched once a tile.
constexpr expr::OperationCounts kTwoLimits{.logic = 2};

bool is_call(const Expr& e) {
  return !e.operands().empty() && e.op() != expr::Op::Load && e.op() != expr::Op::Select &&
         e.op() != expr::Op::ToFloat && e.op() != expr::Op::Not &&
         expr::precedence_of(e.op()) == expr::Precedence::Primary;
}

// How often each function is called for a pair, shared calls once.
void count_calls(const Expr& e, std::set<const void*>& seen, std::map<std::string, int>& calls) {
  if (!seen.insert(e.identity()).second) return;
  const bool varies =
      std::ranges::any_of(attention::pair_variables(),
                          [&](const std::string& name) { return expr::mentions(e, name); });
  if (varies && is_call(e)) ++calls[std::string(expr::spelling(e.op()))];
  for (const Expr& operand : e.operands()) count_calls(operand, seen, calls);
}

std::string counted(double n, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

// What a pair has left of the user's function: what it shares with others is said apart.
const Expr& written(const Expr& by_user, const Expr& of_pair) {
  const bool shares = of_pair && (expr::mentions(of_pair, attention::kOfKey) ||
                                  expr::mentions(of_pair, attention::kOfDistance));
  return shares ? of_pair : by_user;
}

// `n`: what a kernel computes for `written`.
std::string line(std::string_view name, const Expr& written, std::string_view where,
                 const expr::OperationCounts& n) {
  std::vector<std::string> costs;
  if (n.special > 0) costs.push_back(counted(n.special, "special function", "special functions"));
  if (n.multiply > 0) costs.push_back(counted(n.multiply, "multiply-add", "multiply-adds"));
  if (n.logic > 0) costs.push_back(counted(n.logic, "integer operation", "integer operations"));
  if (n.load > 0) costs.push_back(counted(n.load, "load", "loads"));
  if (costs.empty()) return "";
  std::map<std::string, int> calls;
  std::set<const void*> seen;
  count_calls(written, seen, calls);
  std::vector<std::string> named;
  named.reserve(calls.size());
  for (const auto& [function, times] : calls)
    named.push_back(fmt::format("{} {}", times, function));
  return fmt::format("the {} adds {}to {}: {}\n", name,
                     named.empty() ? "" : fmt::format("{} ", fmt::join(named, ", ")), where,
                     fmt::join(costs, ", "));
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

// What pairs do not compute each for itself, or in a cheaper way.
std::string savings_text(const spec::Spec& spec, const attention::PairForm& pairs) {
  std::string text;
  if (pairs.bias) {
    text += fmt::format("{} comes by tiles, with the keys\n", expr::print_brief(pairs.bias->load));
  }
  if (pairs.mask_bits) {
    text +=
        "the mask comes by tiles, with the keys: a bit for each pair, made by a kernel before\n";
  }
  if (pairs.of_key) {
    text +=
        fmt::format("computed once for a warpgroup's rows: {}\n", expr::print_brief(pairs.of_key));
  }
  if (pairs.of_distance) {
    text += fmt::format("computed once for the pairs of a warpgroup that are as far apart: {}\n",
                        expr::print_brief(pairs.of_distance));
  }
  if (pairs.near_cap) {
    text += "near 0, where its rows mostly are, a cubic takes the tanh's place: 3 multiply-adds\n";
  }
  if (pairs.near_logistic) {
    text += "while all of a block's weights are small: 1 special function, 1 multiply-add more\n";
  }
  if (pairs.far) text += far_text(spec, *pairs.far);
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

}  // namespace

std::string functions_text(const spec::Spec& spec, target::Family family,
                           const schedule::Forms& forms) {
  if (!spec.score || !spec.mask || !spec.normalize.weight) return "";
  const auto derived = attention::derive_row_form(spec.normalize);
  const auto* rows = std::get_if<attention::RowForm>(&derived);
  if (rows == nullptr) return "";
  const bool amd = family == target::Family::Cdna2;
  const attention::PairForm pairs =
      attention::pair_form(spec, *rows, schedule::pair_abilities(family, forms));
  const expr::Accuracy accuracy = schedule::accuracy_of(spec, family);
  const auto cost = [&](const Expr& e) {
    return e ? attention::operations_of_pair(e, accuracy) : expr::OperationCounts{};
  };
  std::string text;
  if (spec.score.op() != expr::Op::Variable) {
    expr::OperationCounts n = cost(pairs.score);
    if (pairs.affine) n.multiply -= 1;  // that of the exponent, which softmax has anyway
    text += line("score", written(spec.score, pairs.score), "a pair", n);
  }
  const bool searched = !amd && attention::has_searched_limits(spec, *rows);
  const expr::OperationCounts of_mask = searched ? kTwoLimits : cost(pairs.mask);
  text += line("mask", spec.mask, "a pair of a block that it cuts", of_mask);
  if (spec.normalize_text != "softmax") {
    text +=
        line("weight", written(spec.normalize.weight, pairs.weight), "a pair", cost(pairs.weight));
  }
  return text + savings_text(spec, pairs);
}

}  // namespace attngen::report
