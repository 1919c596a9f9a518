// Scores that leave what exponents hold.
#pragma once

#include "spec/spec.h"

namespace attngen::attention {

// Whether scores may be beyond 2^20 where products are not: by a mask that adds -1e9, by an input's
// elements, by a scale of 1e8. There an exponent, score * log2(e), rounds by more than a weight may
// err, so that the kernel looks out for such maxima.
bool may_be_large(const spec::Spec& spec);

// Whether an exponent's part, of `score`, rounds by little more than a weight may err: of products
// that default scales leave below 2^16 it stays below 2^20. Inputs that are floats do not.
bool rounds_little(const expr::Expr& exponent, const spec::Spec& spec);

}  // namespace attngen::attention
