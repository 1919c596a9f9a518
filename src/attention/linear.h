// Integer expressions as sums of terms, to solve comparisons for one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// constant + sum of coefficient * atom. An atom is a variable, an input's element, or any
// expression that is no sum; each occurs once and with a coefficient that is not 0. q_pos is
// written out as q_idx + seq_kv - seq_q.
struct Linear {
  struct Term {
    expr::Expr atom;
    int64_t coefficient = 1;
  };
  int64_t constant = 0;
  std::vector<Term> terms;
};

// Nothing if `e` is no Int, of more terms than a mask has in earnest, or if a constant would leave
// the range of a 32-bit sum.
std::optional<Linear> linear(const expr::Expr& e);
// a + b_times * b; nothing as of linear().
std::optional<Linear> add(const Linear& a, const Linear& b, int64_t b_times = 1);

// Readable: what is added first, the constant last: q_last + (seq_kv - seq_q) + 1.
expr::Expr to_expr(const Linear& sum);

// Whether it may differ from pair to pair or row to row.
bool varies(const expr::Expr& e);

using Inputs = std::span<const spec::Input>;

// The input that a Load reads, if its elements ascend along its last dimension.
const spec::Input* sorted_input(const expr::Expr& load, Inputs inputs);

// In which direction `e` moves when q_idx grows and all else stays.
enum class Direction : uint8_t { None, Up, Down, Unknown };
Direction direction_in_q(const expr::Expr& e, Inputs inputs);

// Bounds over the rows q_first..q_last: every atom is taken at the row where it is least /
// greatest. Nothing if an atom's direction is unknown.
std::optional<Linear> least(const Linear& sum, Inputs inputs);
std::optional<Linear> greatest(const Linear& sum, Inputs inputs);

}  // namespace attngen::attention
