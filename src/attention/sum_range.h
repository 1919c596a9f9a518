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

}  // namespace attngen::attention
