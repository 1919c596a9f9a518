// What expressions cost: instructions by class, as a GPU would issue them, equal subtrees once.
#pragma once

#include <span>
#include <string>

#include "expr/accuracy.h"
#include "expr/expr.h"
#include "expr/rounded_apart.h"

namespace attngen::expr {

// Per evaluation, in instructions of the device dialect of print.h. A multiply feeding an add
// counts as one; constants and subtrees that mention none of `varying` are free (they are hoisted).
struct OperationCounts {
  double special =
      0;  // exp2, log2, tanh, sin, cos, reciprocal, square roots: the special function unit
  double multiply = 0;  // float add, multiply, multiply-add
  double logic = 0;     // compare, select, min, max, integer and bit operations, conversions
  double load = 0;      // elements read from inputs

  OperationCounts& operator+=(const OperationCounts& other) {
    special += other.special;
    multiply += other.multiply;
    logic += other.logic;
    load += other.load;
    return *this;
  }
  friend OperationCounts operator+(OperationCounts a, const OperationCounts& b) { return a += b; }
};
// Of all of them together. `accuracy` as of device_function, on AMD always full; `inexact` as of
// Names.
OperationCounts count(std::span<const Expr> all, std::span<const std::string> varying,
                      Accuracy accuracy = Accuracy::Full, const Inexact& inexact = {});
OperationCounts count(const Expr& e, std::span<const std::string> varying,
                      Accuracy accuracy = Accuracy::Full, const Inexact& inexact = {});

}  // namespace attngen::expr
