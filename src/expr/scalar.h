// What each operator computes, in double precision: the one definition that the evaluator and the
// constant folder share. Bools are 0 or 1, Ints whole numbers.
#pragma once

#include <cmath>

#include "expr/expr.h"

namespace attngen::expr {

// `type` is the result's; operands beyond the operator's arity are ignored. Not for leaves and
// reductions.
double apply(Op op, Type type, double a, double b, double c);

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace attngen::expr
