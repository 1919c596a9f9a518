// The online form of a row normaliser, derived from its closed form (docs/spec.md section 2).
//
// A kernel sees a row's pairs block by block. It keeps running reductions; row values are computed
// from them. When a row value changes, what was accumulated with the old value is rescaled. The
// rescale exists if the weight separates: weight(s, rows) = A(rows) B(s), A > 0. Then old sums
// times A(new) / A(old) are sums of new weights. Softmax: exp(score - m) = exp(-m) exp(score), so
// the factor is exp(m_old - m_new). A factor that is no exponential waits for the complete sum
// instead: the weight exp(score - m) / l becomes exp(score - m), and the output acc becomes acc /
// l.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "expr/expr.h"
#include "expr/parse.h"
#include "spec/spec.h"

namespace attngen::attention {

// The name of a row value before the current block: "m" -> "old_m".
std::string old_name(const std::string& row);

// One running reduction over the existing pairs of a row.
struct Reduction {
  enum class Kind : uint8_t { Max, Sum };
  Kind kind = Kind::Sum;
  std::string name;      // "max_score", "sum_exp", "sum_2": a Float variable of the rows below
  expr::Expr element;    // of one pair; may read in-loop rows
  expr::Expr rescale;    // by which the running value shrinks: of rows and old rows; 1 if constant.
                         // A running value without a pair (-inf, 0) stays as it is
  bool deferred = true;  // no in-loop row reads it: threads may keep partial values until the end
};

struct RowValue {
  std::string name;
  expr::Expr value;      // of reductions, earlier rows, and what is constant along the row
  bool in_loop = false;  // read by the weight or an element: current after every block
  // Of a row without pairs, where `value` would multiply a sum of 0, or shift a maximum of -inf, by
  // what rows without pairs make infinite.
  expr::Expr without_pairs = {};
};

// When an empty row must be told apart, because `output` would be NaN there (0 / 0).
enum class EmptyTest : uint8_t {
  None,   // output of no pairs is finite by itself
  Max,    // a RowMax reduction is still -inf: `empty_reduction` names it
  Count,  // a counting Sum was added: `empty_reduction` names it
};

struct RowForm {
  std::vector<Reduction> reductions;
  std::vector<RowValue> rows;
  expr::Expr weight;   // without the row factor that `output` took over
  expr::Expr rescale;  // of the accumulator, like Reduction::rescale
  expr::Expr output;
  std::vector<spec::NamedExpr> saves;
  EmptyTest empty = EmptyTest::None;
  std::string empty_reduction;
  // Where a row constant, a sink, joins the maximum of an exponential form: blocks may be weighed
  // against the constant alone, so that a row with pairs may keep a maximum of -inf. Its sum of
  // exponentials, which is 0 too where there is no pair; else "".
  std::string empty_sum;

  // The weight is exp(score - m) for an in-loop row `m` that is a RowMax of `score`, perhaps joined
  // with row constants by max; every other reduction is a Sum of that same exponential, and there
  // is one. Kernels then fold scale and log2(e) and need no user code between the two products.
  bool exponential = false;
  std::string max_row;        // "m"
  std::string max_reduction;  // "max_1"
  // The weight reads no row: nothing is rescaled (sigmoid, ReLU, retention).
  bool row_free() const { return rescale.is_number(1); }
};

// Why there is no online form, at a span of the expression at `pointer` ("/normalize/weight").
struct Refusal {
  std::string pointer;
  expr::Error error;
};

std::variant<RowForm, Refusal> derive_row_form(const spec::Normalizer& normalizer);

}  // namespace attngen::attention
