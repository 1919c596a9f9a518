// Weights whose sums over keys far behind a tile of queries need no weight of a single pair.
//
// If a score is the product times a power that grows evenly along the keys,
//   score = product * 2^(slope kv_idx + what the row decides),
// and the weight is that score, then the weighted sum of values over a stretch of keys is the
// product of the query with one matrix, sum over the keys of 2^(slope kv_idx) value key^T: the
// state of linear attention. It costs a tile two small products, where its pairs would cost one
// more product each. A row's sum of scores is the product of its query with one vector, the same
// sum of the keys. One of absolute values still takes each pair's product, but of its power only
// the ratio of one key to the next: a multiply-add a pair.
//
// Without absolute values, what a weight has of its key may be anything that the key alone decides:
//   score = product * factor(key) 2^(exponent(key)) * what the row decides
//
// Example: RetNet's retention in parallel, product * exp((q_pos - kv_idx) * log(gamma)) over
// max(rowsum(abs(score)), 1): slope -log2(gamma).
//
// Example: a gated state space model's, product * exp(gates[b, h, q_pos] - gates[b, h, kv_idx]) *
// step[b, h, kv_idx]: exponent -log2(e) gates[b, h, kv_idx], factor step[b, h, kv_idx].
//
// Example: an mLSTM's, the same over max(abs(rowsum(score)), 1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attention/row_form.h"
#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention {

// Of weights along the keys, by the sign of the slope. The state of falling ones, in the unit of
// the last, would grow without bound: they have the key's weight instead, or none.
enum class Growth : uint8_t { Rises, Falls, AsInputsSay };
Growth growth_of(const expr::Expr& slope, int heads);

enum class FarSum : uint8_t {
  Score,
  Absolute,  // of the score
  Number,    // the same for each key
};

// Of b, h, kv_idx and inputs; `of_row` of a row and kUnit: the weight that a product of 1 has at a
// key without a factor whose exponent is kUnit.
struct KeyWeight {
  expr::Expr exponent, factor;  // empty for 0, for 1
  expr::Expr of_row;
};
inline constexpr const char* kUnit = "$unit";

struct FarForm {
  expr::Expr slope;       // log2 of a weight's growth from a key to the next; of b, h, inputs
  bool may_fall = false;  // by inputs; a head whose weights do has no far keys
  std::optional<KeyWeight> key_weight;  // where there is no slope
  std::vector<FarSum> sums;             // what RowForm::reductions add up
};

// How many of them take each pair's product: those of scores too, beside one of absolute values.
int sums_of_products(const std::vector<FarSum>& sums);
// Of a form that has far keys, whether some do, and whether some take the sum of the keys.
bool sums_products(const RowForm& rows);
bool sums_keys(const RowForm& rows);

// Whether the kernel's tiles may have such keys: dense, bf16 (a state may be larger than fp16's
// range), rows that see all keys from the first on up to some key, reductions that are sums of the
// weight, its absolute value or a number. Gives FarForm::sums, or what stands in their way.
struct FarRows {
  std::vector<FarSum> sums;
  const char* obstacle = nullptr;  // "two maps share an output"
};
FarRows far_rows(const spec::Spec& spec, const RowForm& rows);
inline constexpr const char* kUnevenAbsolutes =
    "a sum of absolute values takes weights that rise evenly along the keys";

// x, of a score that is a product of kProduct, 2^x and what does not vary along the row; 0 where it
// has no power. Otherwise empty.
using Predicate = std::function<bool(const expr::Expr&)>;
expr::Expr far_exponent(const expr::Expr& score, const Predicate& varies);

// Of such a score whose power and factors, if they vary, do so with the key alone, or as a sum of
// terms that do with those that do not.
std::optional<KeyWeight> key_weight(const expr::Expr& score, const Predicate& varies);

}  // namespace attngen::attention
