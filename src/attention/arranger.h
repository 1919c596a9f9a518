// Takes what pairs of a row have in common out of their expressions: constants, and lines that grow
// evenly along the keys (pair_form.h).
#pragma once

#include <optional>
#include <string>

#include "attention/known.h"
#include "attention/pair_form.h"

namespace attngen::attention {

inline expr::Expr variable_of(const char* name) { return expr::variable(name, expr::Type::Float); }

// e = product * `product` + kv_idx * `key` + what does not vary in the row; empty for 0.
struct Slopes {
  expr::Expr product, key;
};

// Of expressions of kProduct, kBias and strips, for a form whose constants and lines it adds.
class Arranger {
 public:
  // `in_line`: whether a block's keys follow one another. Those of a list do not: nothing grows
  // evenly along them.
  Arranger(const RowForm& rows, PairForm& form, bool in_line)
      : rows_(rows), form_(form), in_line_(in_line) {}

  // Whether it differs between the pairs of a row, or between blocks.
  bool varies(const expr::Expr& e) const;
  std::optional<Slopes> slopes(const expr::Expr& e) const;
  // Whether it takes a pair no more than a power of what grows evenly along the keys.
  bool grows_evenly(const expr::Expr& e) const;

  // By which the exponent of a far form grows from a key to the next, if `weight` has one.
  expr::Expr slope_of_power(const expr::Expr& weight) const;
  // `e` with constants and lines taken out.
  expr::Expr arrange(const expr::Expr& e);
  // An affine expression: as few multiply-adds as it takes. The base of one that reads kv_idx is a
  // line, or kBase if that is asked for: a pair then has registers alone, and no inputs.
  expr::Expr affine(const expr::Expr& e, const Slopes& found, bool own_base);
  // `e`, which does not vary, taken out.
  expr::Expr constant(const expr::Expr& e);
  // `e` with constants taken out alone.
  expr::Expr with_constants(const expr::Expr& e);

 private:
  bool decide_varies(const expr::Expr& e) const;
  std::optional<Slopes> find_slopes(const expr::Expr& e) const;
  std::optional<Slopes> slopes_of_int(const expr::Expr& e) const;
  std::optional<Slopes> scaled(const expr::Expr& e, expr::Op op, const expr::Expr& by) const;

  // An operand of a step, of which no other rounding may be made: what is left of its arithmetic.
  expr::Expr within_step(const expr::Expr& e);
  expr::Expr kept(const expr::Expr& e);
  std::string line(const expr::Expr& first);

  const RowForm& rows_;
  PairForm& form_;
  bool in_line_;
  mutable Known<bool> varies_;
  mutable Known<std::optional<Slopes>> slopes_;
  Known<expr::Expr> arranged_;
};

}  // namespace attngen::attention
