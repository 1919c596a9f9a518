// Scores that leave what exponents hold.
#pragma once

#include "spec/spec.h"

namespace attngen::attention {

// Whether scores may be beyond 2^20 where products are not: by a mask that adds -1e9, by an input's
// elements, by a scale of 1e8. There an exponent, score * log2(e), rounds by more than a weight may
// err, so that the kernel looks out for such maxima.
bool may_be_large(const spec::Spec& spec);

}  // namespace attngen::attention
