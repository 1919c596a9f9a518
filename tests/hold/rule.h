// The FlashAttention rule, as scripts/gpu/rule.py has it: an output may err by twice what the same
// mathematics done naively in the storage type errs, plus a small absolute term.
#pragma once

#include <string>
#include <vector>

#include "spec/spec.h"

namespace attngen::hold {

struct Verdict {
  std::string output;  // "o", "o in the mean", "lse"
  double error = 0, allowed = 0;
  size_t row = 0;
  bool ok() const { return error <= allowed; }  // false for NaN
  double ratio() const;
};

// Rows of equal length; `got` is what the kernel gave.
struct Rows {
  size_t columns = 1;
  std::vector<double> got, exact, naive;
};
// What a kernel rounds one after the other: its weights, its result. Naive weights may err nothing:
// that of a row's only pair, divided by itself, is 1.
inline constexpr double kRoundings = 2;
Verdict hold_largest(std::string output, const Rows& rows, double roundoff);
// In the mean square over rows of like magnitude: small rows do not hide below large ones.
Verdict hold_by_magnitude(const std::string& output, const Rows& rows, double roundoff);
// A save is fp32, as the scores that it is made of are: allowed is a share of what it errs whose
// scores are rounded to the storage type.
inline constexpr double kSaveRoundoff = 1e-5;
inline constexpr double kSaveShare = 1.0 / 16;
Verdict hold_save(std::string output, const Rows& rows);

double roundoff_of(spec::DType dtype);

}  // namespace attngen::hold
