// How many lines of the L1 the loads of the user's functions touch.
#pragma once

#include "attention/pair_form.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::schedule {

// What the loads of a pair take beyond one line each, in loads of one line; `e` is one of the
// form's expressions. A warp's accumulators are those of 8 query rows and, at a time, of 8 columns:
// x[b, q_idx, kv_idx] touches 8 lines, as far apart as rows are, and so does x[b, q_idx * 4096 +
// kv_idx]; x[b, kv_idx, q_idx] 4, since a lane's columns come one by one. An index that an input
// holds finds some 8 lines, if the table has as many; in the last dimension neighbours.
double scattered_loads(const expr::Expr& e, const attention::PairForm& form,
                       const spec::Spec& spec);

}  // namespace attngen::schedule
