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
Verdict hold_largest(std::string output, const Rows& rows, double roundoff);
// In the mean square over rows of like magnitude: small rows do not hide below large ones.
Verdict hold_by_magnitude(const std::string& output, const Rows& rows, double roundoff);

double roundoff_of(spec::DType dtype);
inline constexpr double kSaveRoundoff = 1e-5;

}  // namespace attngen::hold
