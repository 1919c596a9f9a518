#include "attention/fixed_max.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>

#include "attention/known.h"
#include "expr/evaluate.h"

namespace attngen::attention {
namespace {

using expr::Op;
using Values = std::map<std::string, double, std::less<>>;

// What a row reads beside its running values: any value for a name, another at each point.
class Constants {
 public:
  explicit Constants(uint32_t point) : point_(point) {}
  double operator()(std::string_view name) const {
    uint32_t hash = 2166136261u ^ point_;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return 1 + static_cast<double>(hash % 5);
  }

 private:
  uint32_t point_;
};

double evaluate(const expr::Expr& e, const Values& values, const Constants& constants) {
  const auto variable = [&](std::string_view name) {
    const auto found = values.find(name);
    return found != values.end() ? found->second : constants(name);
  };
  const auto load = [&](std::string_view input, std::span<const int64_t>) {
    return constants(input) - 3;
  };
  return expr::evaluate(e, variable, load);
}

// The rows, the output and the saves for a running maximum `max`, and sums and accumulator as they
// are for a maximum row of `reference`.
Values results(const RowForm& form, double max, double reference, const Values& sums,
               const Constants& constants) {
  Values values;
  values[form.max_reduction] = max;
  double grown = 1;
  for (const RowValue& row : form.rows) {
    if (row.name == form.max_row)
      grown = std::exp(reference - evaluate(row.value, values, constants));
  }
  for (const auto& [name, sum] : sums) values[name] = sum * grown;
  for (const RowValue& row : form.rows) values[row.name] = evaluate(row.value, values, constants);
  Values out;
  out["output"] = evaluate(form.output, values, constants);
  for (const spec::NamedExpr& save : form.saves) {
    out["save " + save.name] = evaluate(save.value, values, constants);
  }
  out["reference"] = values[form.max_row];
  return out;
}

// Operations that are not analytic, and of what changes with the maximum: what such a function is
// at a few points says nothing of others.
class Branches {
 public:
  explicit Branches(const RowForm& form) {
    running_ = {"acc", form.max_row};
    for (const Reduction& reduction : form.reductions) running_.insert(reduction.name);
  }
  void add(const std::string& row) { running_.insert(row); }

  bool reads_running(const expr::Expr& e) {
    if (const bool* known = reads_.find(e)) return *known;
    const bool itself = e.op() == Op::Variable && running_.contains(e.name());
    return reads_.keep(e, itself || std::ranges::any_of(e.operands(), [&](const auto& operand) {
                            return reads_running(operand);
                          }));
  }

  bool in(const expr::Expr& e) {
    if (const bool* known = found_.find(e)) return *known;
    const bool itself = std::ranges::find(kBranches, e.op()) != kBranches.end() && reads_running(e);
    return found_.keep(e, itself || std::ranges::any_of(e.operands(), [&](const auto& operand) {
                            return in(operand);
                          }));
  }

 private:
  static constexpr std::array kBranches{Op::FloorDivide, Op::Modulo,       Op::Less,  Op::LessEqual,
                                        Op::Greater,     Op::GreaterEqual, Op::Equal, Op::NotEqual,
                                        Op::Select,      Op::Abs,          Op::Min,   Op::Max,
                                        Op::Relu,        Op::Floor,        Op::ToInt, Op::Sign};

  std::set<std::string> running_;
  Known<bool> reads_, found_;
};

// Whether the rows behind the maximum, the output or a save branches on the maximum.
bool branches(const RowForm& form) {
  Branches branches(form);
  for (const RowValue& row : form.rows) {
    if (row.name != form.max_row && branches.in(row.value)) return true;
    if (branches.reads_running(row.value)) branches.add(row.name);
  }
  return branches.in(form.output) ||
         std::ranges::any_of(form.saves, [&](const auto& save) { return branches.in(save.value); });
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

}  // namespace

bool may_fix_max(const RowForm& form) {
  if (!form.exponential || branches(form)) return false;
  std::mt19937 random(1);  // the raw generator: its sequence is the same everywhere
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * (static_cast<double>(random()) / 4294967295.0);
  };
  for (uint32_t point = 0; point < 32; ++point) {
    const Constants constants(point);
    Values sums{{"acc", uniform(-2, 2)}};
    for (const Reduction& reduction : form.reductions) {
      if (reduction.kind == Reduction::Kind::Sum) sums[reduction.name] = uniform(0.5, 4);
    }
    const double max = uniform(-4, 6);
    const double true_reference = results(form, max, 0, sums, constants).at("reference");
    Values exact = results(form, max, true_reference, sums, constants);
    Values fixed = results(form, max - uniform(0.1, 5), true_reference, sums, constants);
    for (auto& [name, value] : exact) {
      if (name != "reference" && !near(value, fixed.at(name))) return false;
    }
  }
  return true;
}

}  // namespace attngen::attention
