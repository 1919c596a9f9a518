// Separation of a pair's function into what its row decides and what the pair decides.
//
// f(pair, rows) = factor(rows) * A(rows) * B(pair) with A = exp of a sum of row terms. Sums over
// the pairs of B can then follow a change of the rows: the factor waits until the sum is complete,
// and A, which may under- or overflow by itself, rescales online by A(new) / A(old). Examples with
// rows m, l:
//   exp(score - m) / l                        factor 1/l   A exp(-m)  B exp(score)
//   relu(exp(score - m) - exp(-m))            factor 1     A exp(-m)  B relu(exp(score) - 1)
//   score / l                                 factor 1/l   A 1        B score
//   sigmoid(score - m)                        none
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "expr/expr.h"

namespace attngen::attention {

// A term of A's exponent: A = prod base^(+-value), base exp or exp2.
struct ExponentTerm {
  expr::Op base = expr::Op::Exp;
  bool negative = false;
  expr::Expr value;
};

struct Separation {
  std::vector<ExponentTerm> exponent;  // of A
  expr::Expr factor;                   // Float; the number 1 if there is none
  expr::Expr kept;                     // f / factor = A * B, in the user's own shape
};

// f = shift(rows) + rest(pair).
struct Shift {
  expr::Expr shift;  // empty if f reads no row
  expr::Expr rest;
};

// A subexpression that mixes rows and pair inseparably.
struct Mixed {
  expr::Expr part;
  bool in_exponent = false;  // there it would have to be a sum, elsewhere a product
};

// What the names in an expression mean here.
struct RowNames {
  // Rows that change while the pairs of a row are seen.
  std::function<bool(const std::string&)> is_row;
  // Whether the value of a variable is above zero wherever the row has a pair.
  std::function<bool(const std::string&)> is_positive;
};

bool reads_pair(const expr::Expr& e);  // score, kv_idx
bool reads_rows(const expr::Expr& e, const RowNames& names);
bool is_positive(const expr::Expr& e, const RowNames& names);

// Fails with the reason in `mixed`.
std::optional<Separation> separate(const expr::Expr& f, const RowNames& names, Mixed& mixed);
std::optional<Shift> separate_shift(const expr::Expr& f, const RowNames& names);

// A(new rows) / A(old rows): every row `m` of the terms is read once as `m` and once as `old(m)`.
expr::Expr ratio(const std::vector<ExponentTerm>& exponent, const RowNames& names,
                 const std::function<std::string(const std::string&)>& old);

// a * factor, written a / x where the factor is 1 / x.
expr::Expr times(const expr::Expr& a, const expr::Expr& factor);

}  // namespace attngen::attention
