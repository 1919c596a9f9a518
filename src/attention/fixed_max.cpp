#include "attention/fixed_max.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <random>

#include "expr/evaluate.h"

namespace attngen::attention {
namespace {

using Values = std::map<std::string, double, std::less<>>;

// Row constants and inputs: any fixed value for a name will do, whatever its indices.
double constant_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return 1 + static_cast<double>(hash % 5);
}

double evaluate(const expr::Expr& e, const Values& values) {
  const auto variable = [&](std::string_view name) {
    const auto found = values.find(name);
    return found != values.end() ? found->second : constant_of(name);
  };
  const auto load = [](std::string_view input, std::span<const int64_t>) {
    return constant_of(input) - 3;
  };
  return expr::evaluate(e, variable, load);
}

// The rows, the output and the saves for a running maximum `max`, and sums and accumulator as they
// are for a maximum row of `reference`.
Values results(const RowForm& form, double max, double reference, const Values& sums) {
  Values values;
  values[form.max_reduction] = max;
  double grown = 1;
  for (const RowValue& row : form.rows) {
    if (row.name == form.max_row) grown = std::exp(reference - evaluate(row.value, values));
  }
  for (const auto& [name, sum] : sums) values[name] = sum * grown;
  for (const RowValue& row : form.rows) values[row.name] = evaluate(row.value, values);
  Values out;
  out["output"] = evaluate(form.output, values);
  for (const spec::NamedExpr& save : form.saves) {
    out["save " + save.name] = evaluate(save.value, values);
  }
  out["reference"] = values[form.max_row];
  return out;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

}  // namespace

bool may_fix_max(const RowForm& form) {
  if (!form.exponential) return false;
  std::mt19937 random(1);  // the raw generator: its sequence is the same everywhere
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * (static_cast<double>(random()) / 4294967295.0);
  };
  for (int point = 0; point < 32; ++point) {
    Values sums{{"acc", uniform(-2, 2)}};
    for (const Reduction& reduction : form.reductions) {
      if (reduction.kind == Reduction::Kind::Sum) sums[reduction.name] = uniform(0.5, 4);
    }
    const double max = uniform(-4, 6);
    const double true_reference = results(form, max, 0, sums).at("reference");
    Values exact = results(form, max, true_reference, sums);
    Values fixed = results(form, max - uniform(0.1, 5), true_reference, sums);
    for (auto& [name, value] : exact) {
      if (name != "reference" && !near(value, fixed.at(name))) return false;
    }
  }
  return true;
}

}  // namespace attngen::attention
