// What a kernel computes for each pair of a query and a key, arranged so that a pair costs what
// only it can decide: terms that are the same along a row are taken out, terms that grow evenly
// along the keys become one multiply-add, the scale and log2(e) fold into constants.
//
// Example: score + slopes[h] * (kv_idx - q_pos), under softmax, is needed as a power of two:
//   constants   $c0 = log2(e) slopes[h]
//   exponent    (scale log2(e)) product + (column $c0 + base),   base = $c0 (first - q_pos)
// where `first` is a thread's first key of a block and `column` counts from there: base is
// computed once a block, from small whole numbers, and a pair takes two multiply-adds.
//
// Example: score + gate[b, h, q_pos] - gate[b, h, kv_idx], under softmax:
//   constants   $c0 = gate[b, h, q_pos]
//   score       scale product - gate[b, h, kv_idx]
//   row_term    $c0, which the row's maximum is given at the end
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/far_form.h"
#include "attention/level_form.h"
#include "attention/near_form.h"
#include "attention/pair_input.h"
#include "attention/row_form.h"
#include "attention/row_tables.h"
#include "attention/strips.h"
#include "expr/count.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// Variables of the expressions below, beside those of specs: the unscaled product of query and key,
// a pair's key counted from the thread's first of the block, the base of an affine score, and the
// pair's element of the input that comes by tiles, a float or a byte. Names of constants and lines
// begin with kOwnName, which no name of a spec does.
inline constexpr const char* kProduct = "$product";
inline constexpr const char* kColumn = "$column";
inline constexpr const char* kBase = "$base";
inline constexpr const char* kBias = "$bias";
inline constexpr const char* kByte = "$byte";
inline constexpr char kOwnName = '$';

// Those of them that differ between the pairs of a row, beside a spec's own: the rest is computed
// once.
std::span<const std::string> pair_variables();
bool varies_in_row(const expr::Expr& e);
// Whether a variable is a score, or the product that an arranged one is made of.
bool is_of_scores(std::string_view variable);
// kProduct, times a number.
bool is_multiple_of_product(const expr::Expr& e);
// A step (expr/rounded_apart.h) that scores do not decide: its operands round as a spec has them.
bool makes_step(const expr::Expr& e);
// A quotient or a remainder of kv_idx by a positive number.
bool is_divided_key(const expr::Expr& e);
// What an expression costs a pair, or several together.
expr::OperationCounts operations_of_pair(std::span<const expr::Expr> all, expr::Accuracy accuracy);
expr::OperationCounts operations_of_pair(const expr::Expr& e,
                                         expr::Accuracy accuracy = expr::Accuracy::Full);

// Evenly growing along the keys: its value at the thread's first key of a block, of kv_idx there.
struct Line {
  std::string name;  // "$l0"
  expr::Expr first;
};

// Elements of an input one behind the other for a row's keys: key[b, kv_idx]. Expressions read them
// as a load of their own, `key.k0[kv_idx]`, by the address of a thread's first of a block.
struct KeyRow {
  std::string name;  // "k0"
  expr::Expr load;   // as the spec has it
};

// What a reduction takes of a pair, without a factor > 0 that the result has: a scale, mostly.
struct PairElement {
  expr::Expr value;
  double factor = 1;
};

struct PairForm {
  std::vector<spec::NamedExpr> constants;  // along a row; "$c0" ...
  std::vector<Line> lines;
  std::vector<KeyRow> key_rows;
  std::vector<RowTable> row_tables;

  // Exponential forms: log2 of a weight's numerator is `unit` times `score`, unit > 0. If the
  // exponent is a * product + b * kv_idx + c with a, b, c constant along the row it is `affine`:
  // score reads kBase for what `base` (of kv_idx, the thread's first key) gives, and unit is 1.
  // Other forms: the user's score; empty if weight and elements read the product themselves.
  expr::Expr score;
  double unit = 1;
  bool affine = false;
  expr::Expr base;
  // Left out of a score that is not affine: weights of softmax do not change with what all scores
  // of a row have in common. Empty for 0.
  expr::Expr row_term;

  expr::Expr weight;                  // other forms only; without its constant factor
  double weight_factor = 1;           // > 0: left to the output
  bool positive_part = false;         // weight is what a relu is of; rounding it drops the rest
  std::vector<PairElement> elements;  // other forms only: of RowForm::reductions, in their order
  expr::Expr mask;

  // If asked for. All of the above is then of queries that a cap has scaled.
  std::optional<NearCap> near_cap;            // in the place of unit * score
  std::optional<NearLogistic> near_logistic;  // in the place of weight
  std::optional<FarForm> far;                 // for keys that all rows of a tile see whole
  const char* far_obstacle = nullptr;         // to it, of weights that could have it
  std::optional<LevelForm> level;             // of `score`, in some blocks
  std::optional<PairInput> bias;              // all of these read kBias or kByte for it
  std::vector<expr::Expr> of_key;             // and name_of_key, kOfDistance (attention/strips.h)
  expr::Expr of_distance;
  std::vector<expr::Expr> key_words;  // mask reads kKeyWord for these
  bool divides_keys = false;          // score or weight divides kv_idx by a number
  bool mask_bits = false;             // or is `true`: bits come by tiles (asks_pairs)
  bool listed_keys = false;           // a pair reads which key of a list it is about

  // Whether score, weight or an element is so.
  bool any(const std::function<bool(const expr::Expr&)>& has) const;
  bool reads(const char* variable) const;  // whether a pair needs it
  bool has_lines() const { return !lines.empty() || !key_rows.empty(); }
  bool has_strips_by_head() const;  // of keys, each head its own
  bool has_value_strips() const { return !of_key.empty() || of_distance; }
  bool scores_read_bias() const { return reads(kBias) || reads(kByte); }
  bool mask_reads_bias() const {
    return expr::mentions(mask, kBias) || expr::mentions(mask, kByte);
  }
  // Whether no pair exists whose byte is 0, as it is of keys behind the last one in a tile.
  bool zero_is_masked() const;
  bool mask_loads() const { return !expr::inputs_of(mask).empty(); }  // for each pair
};

// What a kernel is able to.
struct PairAbilities {
  bool near = false;                  // to compute a block of keys again: near forms
  bool far = false;                   // to keep states of keys far behind: far forms
  bool level = false;                 // to tell blocks in which a score adds the same: level forms
  bool bias = false;                  // to load an input by the tiles of its scores
  bool mask_bits = false;             // and a mask that a kernel before has made
  bool row_keys = false;              // to search each row's keys (has_searched_limits)
  bool key_rows = false;              // to keep an address for a block
  bool places = false;                // to tell where in its block a key stands
  bool row_tables = false;            // to keep rows of tables in shared memory
  Shared strips = Shared::Nothing;    // to compute what pairs of a block share once
  bool rounds_positive_part = false;  // to round a weight and take its positive part in one
  bool flushes_subnormals = false;    // not to multiply by fp16 subnormals: they are 0
};
PairForm pair_form(const spec::Spec& spec, const RowForm& rows, PairAbilities abilities = {});

// 1 / (n + n 2^x): how sigmoids come out, with n = 1 or a factor that the output has. Gives x, or
// nothing.
expr::Expr logistic_exponent(const expr::Expr& e);

}  // namespace attngen::attention
