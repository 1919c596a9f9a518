// What sums of indices, lengths and inputs may come to, and sums that kernels take in 32 bits.
#pragma once

#include <optional>

#include "attention/linear.h"
#include "expr/bound.h"

namespace attngen::attention {

// Of any call's indices, lengths and inputs.
expr::Bounds bounds_of(Inputs inputs);

// Of a sum of what ends of keys and block tests read. Rows and keys are within their lengths, so
// that q_first + seq_kv - seq_q is no larger than a length.
expr::Interval range_of(const Linear& sum, Inputs inputs);

bool fits_32_bits(const expr::Interval& range);

// The sum, which saturates where it may leave 32 bits, or may on the way. Nothing if it may leave
// 64.
std::optional<expr::Expr> saturated(const Linear& sum, Inputs inputs);

// The sum divided by n > 0 and rounded down (`up`: up). Exact where the sum itself leaves 32 bits:
// no dividend of the result does. Nothing if it cannot be had so.
std::optional<Linear> quotient(const Linear& sum, int64_t n, bool up, Inputs inputs);

// The sum times an Int that is at least 1, which saturates. Nothing if the sum may leave 64 bits.
std::optional<Linear> product(const Linear& sum, const expr::Expr& n, Inputs inputs);
// The sum divided by an Int that is at least 1 and rounded down. Nothing if it may leave 32 bits.
std::optional<Linear> floor_of(const Linear& sum, const expr::Expr& n, Inputs inputs);

// The sum with x - x // n * n in the place of x % n, of an n that all rows share and that is at
// least 1.
Linear without_remainders(const Linear& sum, Inputs inputs);

}  // namespace attngen::attention
