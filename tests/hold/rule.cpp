#include "rule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "expr/expr.h"

namespace attngen::hold {
namespace {

using expr::kInfinity;

// What is below 2^-126, the least normal number, may be flushed: of a sum a thousand pairs'
// weights.
constexpr double kUnderflow = 0x1p-116;

// Equal infinities count as no difference, NaN as an infinite one.
double difference(double got, double exact) {
  if (got == exact) return 0;
  const double error = std::abs(got - exact);
  if (std::isnan(error)) return kInfinity;
  return error;
}
double finite_or_zero(double x) { return std::isfinite(x) ? x : 0; }

// `share`: of the naive error. `roundings`: so many are allowed in any case.
Verdict largest(std::string output, const Rows& rows, double roundoff, double share,
                double roundings) {
  Verdict verdict{std::move(output), 0, 0, 0};
  double naive = 0, size = 0;
  for (size_t i = 0; i < rows.got.size(); ++i) {
    const double error = difference(rows.got[i], rows.exact[i]);
    if (error > verdict.error) {
      verdict.error = error;
      verdict.row = i / rows.columns;
    }
    naive = std::max(naive, finite_or_zero(difference(rows.naive[i], rows.exact[i])));
    size = std::max(size, finite_or_zero(std::abs(rows.exact[i])));
  }
  verdict.allowed = std::max(share * naive + roundoff * size, roundings * roundoff * size);
  return verdict;
}

}  // namespace

double Verdict::ratio() const {
  if (error == 0) return 0;
  return allowed > 0 ? error / allowed : kInfinity;
}

Verdict hold_largest(std::string output, const Rows& rows, double roundoff) {
  return largest(std::move(output), rows, roundoff, 2, kRoundings);
}

Verdict hold_save(std::string output, const Rows& rows) {
  return largest(std::move(output), rows, kSaveRoundoff, kSaveShare, 0);
}

Verdict hold_by_magnitude(const std::string& output, const Rows& rows, double roundoff) {
  struct Group {
    double error = 0, naive = 0, exact = 0, worst = -1;
    size_t count = 0, row = 0;
  };
  std::map<double, Group> groups;
  for (size_t row = 0; (row + 1) * rows.columns <= rows.got.size(); ++row) {
    double error = 0, naive = 0, exact = 0;
    for (size_t i = row * rows.columns; i < (row + 1) * rows.columns; ++i) {
      error += std::pow(difference(rows.got[i], rows.exact[i]), 2);
      naive += std::pow(finite_or_zero(difference(rows.naive[i], rows.exact[i])), 2);
      exact += std::pow(rows.exact[i], 2);
    }
    const double size = std::sqrt(exact / static_cast<double>(rows.columns));
    Group& group = groups[size > 0 ? std::floor(std::log2(size)) : -kInfinity];
    group.error += error;
    group.naive += naive;
    group.exact += exact;
    group.count += rows.columns;
    if (error > group.worst) {
      group.worst = error;
      group.row = row;
    }
  }
  Verdict worst{output, 0, 0, 0};
  for (const auto& entry : groups) {
    const Group& group = entry.second;
    const auto root = [&](double sum) { return std::sqrt(sum / static_cast<double>(group.count)); };
    const Verdict verdict{
        output, root(group.error),
        2 * root(group.naive) + kRoundings * roundoff * root(group.exact) + kUnderflow, group.row};
    if (!(verdict.ratio() <= worst.ratio())) worst = verdict;
  }
  return worst;
}

double roundoff_of(spec::DType dtype) { return dtype == spec::DType::Bf16 ? 0x1p-8 : 0x1p-11; }

}  // namespace attngen::hold
