// Interval arithmetic on a mask's text. Each number becomes its least and greatest value over a
// block, each condition whether it may hold somewhere and whether it must everywhere.
//
// A pair's numbers are within 32 bits. Their ends need not be: one key's greatest id and another's
// least may differ by more. Such an end saturates, and still is one of all pairs' numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attention/ends.h"
#include "attention/id_tables.h"
#include "attention/known.h"
#include "attention/linear.h"

namespace attngen::attention {

// Of a condition over a block: whether some pair may meet it, whether all must.
struct Truth {
  expr::Expr may = expr::boolean(true);
  expr::Expr must = expr::boolean(false);
};

// n of `x % n` where n is a number above 0, and every Int can be divided by it; else 0.
int64_t positive_divisor(const expr::Expr& e);

// The operators, of conditions.
expr::Expr both(const expr::Expr& a, const expr::Expr& b);
expr::Expr either(const expr::Expr& a, const expr::Expr& b);
expr::Expr negation(const expr::Expr& a);

class BlockBounds {
 public:
  explicit BlockBounds(Inputs inputs) : inputs_(inputs) {}

  Truth truth(const expr::Expr& e) {
    if (!varies(e)) return {e, e};
    if (const Truth* known = truths_.find(e)) return *known;
    return truths_.keep(e, truth_of(e));
  }

  std::vector<IdTable> take_tables() { return std::move(tables_); }

 private:
  // Of conditions (block_truths.cpp).
  Truth truth_of(const expr::Expr& e);
  Truth compared(expr::Op comparison, const expr::Expr& x, const expr::Expr& y);
  Truth less(const expr::Expr& a, const expr::Expr& b, bool or_equal);
  Truth equal(const expr::Expr& a, const expr::Expr& b);
  Truth less_float(const expr::Expr& a, const expr::Expr& b, bool or_equal);
  Truth congruent(const expr::Expr& modulo, const expr::Expr& remainder);
  Truth same_remainder(const expr::Expr& difference);

  // Of whole numbers (block_bounds.cpp). Nothing where an end is unknown.
  std::optional<Ends> ends(const expr::Expr& e);
  std::optional<Ends> ends_of_linear(const expr::Expr& e);
  std::optional<Ends> ends_of_atom(const expr::Expr& e);
  std::optional<Ends> ends_of_sum(const Linear& sum);
  std::optional<Ends> ends_of_whole_square(const expr::Expr& root);
  std::optional<Ends> ends_of_whole_product(const expr::Expr& e);
  bool are_positive(const expr::Expr& e) const;  // its operands: 0 or more, of any pair
  std::optional<Ends> ends_of_choice(const expr::Expr& e);
  std::optional<expr::Expr> negated(const expr::Expr& e);
  std::optional<Ends> size_of(const Ends& x);
  std::optional<Ends> ends_of_load(const expr::Expr& e);
  std::optional<size_t> table_of(const expr::Expr& e);
  std::optional<Ends> ends_of_modulo(const expr::Expr& e);

  // Of floats (block_floats.cpp).
  std::optional<Ends> ends_of_float(const expr::Expr& e);
  std::optional<Ends> ends_of_varying_float(const expr::Expr& e);
  std::optional<Ends> ends_of_float_sum(const expr::Expr& e);
  std::optional<Ends> ends_of_float_product(const expr::Expr& e);
  std::optional<Ends> ends_of_float_function(const expr::Expr& e);
  bool loads(const expr::Expr& e);

  Inputs inputs_;
  // Comparisons that are still taken apart by a choice in them; the others take the ends of both.
  int choices_ = 8;
  Known<Truth> truths_;
  Known<std::optional<Ends>> ends_;
  std::vector<IdTable> tables_;
  Known<bool> loads_;
};

}  // namespace attngen::attention
