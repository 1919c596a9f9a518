#include "report/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "expr/count.h"
#include "expr/ops.h"

namespace attngen::report {
namespace {

using expr::Expr;

// What varies along a row: the rest is computed once.
const std::vector<std::string> kPair{"score", "kv_idx"};

bool is_call(const Expr& e) {
  return !e.operands().empty() && e.op() != expr::Op::Load && e.op() != expr::Op::Select &&
         e.op() != expr::Op::ToFloat && e.op() != expr::Op::Not &&
         expr::precedence_of(e.op()) == expr::Precedence::Primary;
}

// How often each function is called for a pair, shared calls once.
void count_calls(const Expr& e, std::set<const void*>& seen, std::map<std::string, int>& calls) {
  if (!seen.insert(e.identity()).second) return;
  const bool varies = expr::mentions(e, kPair[0]) || expr::mentions(e, kPair[1]);
  if (varies && is_call(e)) ++calls[std::string(expr::spelling(e.op()))];
  for (const Expr& operand : e.operands()) count_calls(operand, seen, calls);
}

std::string counted(double n, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

std::string line(std::string_view name, const Expr& e, std::string_view where,
                 expr::Accuracy accuracy) {
  if (!e) return "";
  const expr::OperationCounts n = expr::count(e, kPair, accuracy);
  std::vector<std::string> costs;
  if (n.special > 0) costs.push_back(counted(n.special, "special function", "special functions"));
  if (n.multiply > 0) costs.push_back(counted(n.multiply, "multiply-add", "multiply-adds"));
  if (n.logic > 0) costs.push_back(counted(n.logic, "integer operation", "integer operations"));
  if (n.load > 0) costs.push_back(counted(n.load, "load", "loads"));
  if (costs.empty()) return "";
  std::map<std::string, int> calls;
  std::set<const void*> seen;
  count_calls(e, seen, calls);
  std::vector<std::string> named;
  named.reserve(calls.size());
  for (const auto& [function, times] : calls)
    named.push_back(fmt::format("{} {}", times, function));
  return fmt::format("the {} adds {}to {}: {}\n", name,
                     named.empty() ? "" : fmt::format("{} ", fmt::join(named, ", ")), where,
                     fmt::join(costs, ", "));
}

}  // namespace

std::string functions_text(const spec::Spec& spec) {
  const auto accuracy =
      spec.dtype == spec::DType::Bf16 ? expr::Accuracy::Bf16 : expr::Accuracy::Full;
  std::string text = line("score", spec.score, "a pair", accuracy);
  text += line("mask", spec.mask, "a pair of a block that it cuts", accuracy);
  if (spec.normalize_text != "softmax") {
    text += line("weight", spec.normalize.weight, "a pair", accuracy);
  }
  return text;
}

}  // namespace attngen::report
