// What a part of a mask says of the keys of a tile's rows, and of parts joined. For key_range
// alone.
#pragma once

#include "attention/linear.h"
#include "expr/expr.h"

namespace attngen::attention {

// Keys [begin, end) hold every pair of the rows, [full_begin, full_end) only pairs. An absent end
// is without limit on its side; `full` false claims nothing.
struct Keys {
  expr::Expr begin, end;
  bool full = false;
  expr::Expr full_begin, full_end;
};

Keys all_keys();
Keys no_keys();
Keys unknown_keys();
bool same_keys(const Keys& a, const Keys& b);

Keys both(const Keys& a, const Keys& b);
Keys either(const Keys& a, const Keys& b);
// `a` where the condition, which is constant along rows and keys, holds; else `b`.
Keys choose(const expr::Expr& condition, const Keys& a, const Keys& b);

// `a` for rows that meet a condition, `b` for the others: of tiles that have some of each, what
// both say. `may`: some row of the tile may meet it; `must`: all do.
Keys choose_by_rows(const expr::Expr& may, const expr::Expr& must, const Keys& a, const Keys& b);

// The keys with sum <= 0: unknown where it cannot be solved for kv_idx. (solve.cpp)
Keys at_most_zero(const Linear& sum, Inputs inputs);

}  // namespace attngen::attention
