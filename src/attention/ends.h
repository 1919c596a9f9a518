// What operators make of the least and the greatest value of their operands over a block: ends of
// their own, by the operations that pairs take.
#pragma once

#include <span>

#include "expr/expr.h"

namespace attngen::attention {

struct Ends {
  expr::Expr low, high;
};

// Of what rises, or falls, with the one operand that moves: an operator, a function, or an input
// that ascends along that dimension.
Ends rising(const expr::Expr& e, const Ends& x, size_t operand = 0);
Ends falling(const expr::Expr& e, const Ends& x, size_t operand = 0);

// Of the product of two factors that are 0 or more. Their lower ends may be below.
Ends product_of_positive(const Ends& x, const Ends& y);

// Of the square of an Int whose size has these ends. That of a pair is within 32 bits.
Ends square_of_size(const Ends& size);

// A Float's ends where each of the operands' is finite. Of a NaN each end is one or infinite, which
// functions may make a number of: then all numbers.
Ends where_finite(const Ends& ends, std::span<const Ends> operands);
// The same of an Int.
Ends whole_where_finite(const Ends& ends, const Ends& operand);

// Whether ends_of_function knows the function: it rises, and takes one Float.
bool is_rising_function(expr::Op op);
// Where a function's results err, wider by more than they do, so that these need not rise.
Ends ends_of_function(expr::Op op, const Ends& x);

// The square of a Float.
Ends ends_of_square(const Ends& x);

}  // namespace attngen::attention
