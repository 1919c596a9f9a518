// What a query alone decides.
#pragma once

#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// Whether an index is known when a tile begins, also where its sequence has no key.
bool is_of_row(const spec::Spec& spec, const expr::Expr& index);

}  // namespace attngen::attention
