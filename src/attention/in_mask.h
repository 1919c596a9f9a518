// What a mask says of its pairs. Where only keys at or before their query exist, abs(q_pos -
// kv_idx) is q_pos - kv_idx: a line along the keys, which costs a pair less, and which keys far
// behind can be summed up by.
#pragma once

#include "expr/expr.h"

namespace attngen::attention {

// `e` of pairs that exist: absolute values and positive parts of differences of two indices whose
// sign a comparison in the mask decides, alone or beside others that hold too, are these
// differences. Example: under kv_idx < q_pos, max(q_pos - kv_idx, 0) is q_pos - kv_idx.
expr::Expr within_mask(const expr::Expr& e, const expr::Expr& mask);

}  // namespace attngen::attention
