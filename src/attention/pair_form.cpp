#include "attention/pair_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attention/arranger.h"
#include "attention/in_mask.h"
#include "attention/index_range.h"
#include "attention/interval_mask.h"
#include "attention/large_scores.h"
#include "attention/powers_of_two.h"
#include "attention/row_divisors.h"
#include "attention/row_exponents.h"
#include "attention/terms.h"
#include "attention/tiles.h"
#include "expr/bound.h"
#include "expr/simplify.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using expr::Type;

constexpr size_t kMostKeyRows = 2;  // an address is two registers

// Loads of one element after the other along a row's keys, by the rows that they are in.
class KeyRows {
 public:
  KeyRows(const spec::Spec& spec, const Arranger& arranger, std::vector<KeyRow>& rows)
      : spec_(spec), arranger_(arranger), rows_(rows) {}

  Expr operator()(const Expr& load) {
    if (!runs_along_keys(load)) return load;
    auto row = std::find_if(rows_.begin(), rows_.end(),
                            [&](const KeyRow& known) { return expr::same(known.load, load); });
    if (row == rows_.end()) {
      if (rows_.size() >= kMostKeyRows) return load;
      rows_.push_back({fmt::format("k{}", rows_.size()), load});
      row = rows_.end() - 1;
    }
    return expr::load(load.name() + "." + row->name, load.type(),
                      {expr::variable("kv_idx", Type::Int)});
  }

 private:
  bool runs_along_keys(const Expr& load) const {
    const spec::Input* input = spec_.find_input(load.name());
    if (input == nullptr || input->shape.empty() ||
        input->shape.back().kind != spec::Input::Dim::Kind::SeqKv) {
      return false;
    }
    const auto indices = load.operands();
    const Expr& last = indices.back();
    return last.op() == Op::Variable && last.name() == "kv_idx" &&
           std::none_of(indices.begin(), indices.end() - 1,
                        [&](const Expr& index) { return arranger_.varies(index); });
  }

  const spec::Spec& spec_;
  const Arranger& arranger_;
  std::vector<KeyRow>& rows_;
};

// The positive numbers that a product has as factors, taken out of it.
std::pair<double, Expr> split_factor(const Expr& e) {
  if (e.op() == Op::Relu || e.op() == Op::Abs || e.op() == Op::Square) {
    const auto [factor, rest] = split_factor(e.operand(0));
    return {e.op() == Op::Square ? factor * factor : factor, expr::make(e.op(), {rest})};
  }
  if (e.op() == Op::Multiply) {
    for (const size_t i : {0u, 1u}) {
      if (e.operand(i).is_number() && e.operand(i).number() > 0) {
        const auto [factor, rest] = split_factor(e.operand(1 - i));
        return {factor * e.operand(i).number(), rest};
      }
    }
    const auto [left_factor, left] = split_factor(e.operand(0));
    const auto [right_factor, right] = split_factor(e.operand(1));
    if (left_factor * right_factor == 1) return {1, e};
    return {left_factor * right_factor, expr::make(Op::Multiply, {left, right})};
  }
  if (e.op() == Op::Divide && e.operand(1).is_number() && e.operand(1).number() > 0) {
    const auto [factor, rest] = split_factor(e.operand(0));
    return {factor / e.operand(1).number(), rest};
  }
  return {1, e};
}

// Whether the row that weights read is the largest score and nothing else, as a sink would be.
bool max_of_scores_alone(const RowForm& rows) {
  const auto max = std::ranges::find(rows.rows, rows.max_row, &RowValue::name);
  return max != rows.rows.end() && max->value.op() == Op::Variable &&
         max->value.name() == rows.max_reduction;
}

// Takes the terms that do not vary along a row out of `score`.
Expr take_row_term(Expr& score, const Arranger& arranger) {
  std::vector<Term> varying, common;
  for (const Term& term : terms_of(score)) {
    (arranger.varies(term.value) ? varying : common).push_back(term);
  }
  if (varying.empty() || common.empty()) return {};
  score = sum_of(varying);
  return sum_of(common);
}

Expr arranged_score(Expr score, const RowForm& rows, Arranger& arranger, PairForm& form) {
  // Simplified, x * (1 / row) is x / row again, a quotient a pair.
  const auto exponent_of = [&](const Expr& e) {
    return with_row_factors(
        expr::simplify(expr::make(Op::Multiply, {expr::number(std::numbers::log2e), e})),
        [&](const Expr& part) { return arranger.varies(part); },
        [&](const Expr& part) { return arranger.slopes(part).has_value(); });
  };
  Expr exponent = exponent_of(score);
  if (const auto found = arranger.slopes(exponent)) {
    form.affine = true;
    return arranger.affine(exponent, *found, true);
  }
  if (max_of_scores_alone(rows)) {
    if (const Expr term = take_row_term(score, arranger)) {
      form.row_term = arranger.with_constants(term);
      exponent = exponent_of(score);
    }
  }
  const auto [unit, rest] = split_factor(exponent);
  if (!expr::is_normal_float(unit)) return arranger.arrange(exponent);
  form.unit = unit;
  return arranger.arrange(rest);
}

}  // namespace

bool PairForm::any(const std::function<bool(const Expr&)>& has) const {
  const auto any_of = [&](const Expr& e) { return e && has(e); };
  return any_of(score) || any_of(weight) ||
         std::ranges::any_of(elements, any_of, &PairElement::value);
}

bool PairForm::reads(const char* variable) const {
  return any([&](const Expr& e) { return expr::mentions(e, variable); });
}

bool PairForm::has_strips_by_head() const {
  return std::ranges::any_of(of_key, [](const Expr& value) { return expr::mentions(value, "h"); });
}

bool PairForm::zero_is_masked() const {
  if (!expr::mentions(mask, kByte) || mask_loads()) return false;
  const auto any = [](std::string_view) { return expr::Interval{}; };
  const auto zero = [&](std::string_view name) {
    return name == kByte ? expr::point(0) : any(name);
  };
  return expr::bound(mask, {zero, any}).is_false();
}

namespace {

// No sum over the pairs of a row that may be that of its weights.
bool counts_alone(const RowForm& rows) {
  return std::ranges::all_of(
      rows.reductions, [](const Reduction& reduction) { return reduction.element.is_number(); });
}

bool sums_weights(const RowForm& rows) {
  return std::ranges::any_of(rows.reductions, [&](const Reduction& reduction) {
    return expr::same(reduction.element, rows.weight);
  });
}

// Whether no pair makes it a NaN, of scores that are -inf too: the relu of one is 0, the rounding
// keeps it.
bool is_no_nan(const Expr& e) {
  if (e.type() != Type::Float || !varies_in_row(e)) return true;
  switch (e.op()) {
    case Op::Log:
    case Op::Log2:
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Pow:
    case Op::Sin:
    case Op::Cos:
    case Op::Modulo:
      return false;
    case Op::Multiply:
    case Op::Divide:
      if (varies_in_row(e.operand(1)) && (e.op() == Op::Divide || varies_in_row(e.operand(0)))) {
        return false;
      }
      break;
    default:
      break;
  }
  return std::ranges::all_of(e.operands(), is_no_nan);
}

// Of keys of a list, which stand in any order: what pairs of a block share by their places is none.
PairAbilities abilities_for(const spec::Spec& spec, PairAbilities abilities) {
  if (!spec.gathers_lists()) return abilities;
  abilities.level = abilities.bias = abilities.key_rows = abilities.places = false;
  abilities.row_tables = false;
  abilities.strips = Shared::Nothing;
  return abilities;
}

// `scale` is that of the products.
class Former {
 public:
  Former(const spec::Spec& spec, const RowForm& rows, double scale, PairAbilities abilities)
      : spec_(spec), rows_(rows), abilities_(abilities_for(spec, abilities)) {
    form_.mask_bits = abilities_.mask_bits && (asks_pairs(spec) || spec.gathers_lists());
    if (abilities_.bias) form_.bias = pair_input(spec);
    if (form_.mask_bits && form_.bias && form_.bias->of_mask) form_.bias.reset();
    const Expr product = expr::make(Op::Multiply, {variable_of(kProduct), expr::number(scale)});
    const Expr score = spec.mask ? within_mask(spec.score, spec.mask) : spec.score;
    own_score_ = expr::substitute(score, {{"score", product}});
    score_ = prepared(own_score_);
  }

  PairForm form() {
    form_mask();
    if (rows_.exponential) {
      form_.score = arranged_score(by_rows(score_), rows_, arranger_, form_);
      if (abilities_.level && !form_.affine) form_.level = level_form(form_.score);
    } else {
      const bool one_pass = std::ranges::all_of(rows_.reductions, &Reduction::deferred);
      one_pass ? form_one_pass() : form_passes();
      take_factor_of_weights();
      form_far();
    }
    form_.of_key = strips_.of_key();
    form_.of_distance = strips_.of_distance();
    form_.key_words = strips_.key_words();
    form_.divides_keys = abilities_.places && form_.any([](const Expr& e) {
      return expr::find_node(e, is_divided_key) != nullptr;
    });
    form_.listed_keys = spec_.gathers_lists() && form_.reads("kv_idx");
    return std::move(form_);
  }

 private:
  // With what comes by tiles.
  Expr biased(const Expr& e) const {
    if (!form_.bias) return e;
    const PairInput& bias = *form_.bias;
    return replace_loads(e, [&](const Expr& load) {
      if (!expr::same(load, bias.load)) return load;
      return expr::variable(bias.has_bytes() ? kByte : kBias, load.type());
    });
  }
  // And by strips.
  Expr prepared(const Expr& e) {
    const Expr simple = expr::simplify(by_powers_of_two(biased(e)));
    const Expr result = with_row_factors(
        simple, [this](const Expr& part) { return arranger_.varies(part); },
        [this](const Expr& part) { return arranger_.slopes(part).has_value(); });
    return abilities_.strips != Shared::Nothing ? strips_(result) : result;
  }
  // Of what is prepared to the end: an address says no more on which pairs its elements depend, nor
  // a table's element on which query.
  Expr by_rows(const Expr& e) {
    const Expr result = by_row_tables(e);
    return abilities_.key_rows ? replace_loads(result, std::ref(key_rows_)) : result;
  }
  Expr by_row_tables(const Expr& e) {
    return abilities_.row_tables ? replace_loads(e, std::ref(row_tables_)) : e;
  }

  void form_mask() {
    if (form_.mask_bits) {
      form_.mask = expr::boolean(true);
      return;
    }
    const bool searched = abilities_.row_keys && has_searched_limits(spec_, rows_);
    const bool tested = !searched && !has_row_limits(key_range(spec_.mask, spec_.inputs));
    // Lines are of a thread's keys that exist: which ones do is found without.
    // Simple, as what tells of blocks: other operations would round to another answer.
    form_.mask = tested ? expr::simplify(biased(spec_.mask)) : spec_.mask;
    const bool has_words = tested && abilities_.strips != Shared::Nothing;
    if (has_words) form_.mask = strips_.with_key_words(form_.mask);
    if (tested) form_.mask = by_row_tables(form_.mask);
    if (tested && arranger_.varies(form_.mask)) form_.mask = arranger_.with_constants(form_.mask);
  }

  // A score that is no more than a multiply-add, or that is the weight, is made where it is read.
  void form_one_pass() {
    const bool is_weight = rows_.reductions.empty() && rows_.weight.op() == Op::Variable;
    const bool where_read = is_weight || arranger_.slopes(score_);
    if (!where_read) form_.score = arranger_.arrange(by_rows(score_));
    const auto with_score = [&](const Expr& e) {
      return arranger_.arrange(by_rows(prepared(where_read ? of_score(e) : e)));
    };
    form_.weight = with_score(rows_.weight);
    for (const Reduction& reduction : rows_.reductions) {
      form_.elements.push_back({with_score(reduction.element)});
    }
  }

  // A later pass over a block reads its scores again: they are kept, but for multiples of the
  // products, which are there.
  void form_passes() {
    const Expr score = arranger_.arrange(by_rows(score_));
    const FoldedRows weight = with_rows_in_exponents(prepared(rows_.weight));
    std::vector<FoldedRows> elements;
    for (const Reduction& reduction : rows_.reductions) {
      elements.push_back(with_rows_in_exponents(prepared(reduction.element)));
    }
    const bool of_product = is_multiple_of_product(score) && weight.apart &&
                            std::ranges::all_of(elements, &FoldedRows::apart);
    if (!of_product) form_.score = score;
    const auto arranged = [&](const FoldedRows& folded) {
      const Expr e = by_rows(folded.value);
      return arranger_.arrange(of_product ? expr::simplify(expr::substitute(e, {{"score", score}}))
                                          : e);
    };
    form_.weight = arranged(weight);
    for (size_t i = 0; i < elements.size(); ++i) {
      form_.elements.push_back({arranged(elements[i])});
      const bool is_weight = expr::same(rows_.reductions[i].element, rows_.weight);
      if (of_product && !is_weight) take_factor(form_.elements[i]);
    }
  }

  FoldedRows with_rows_in_exponents(const Expr& e) const {
    FoldedRows folded = with_folded_rows(
        e,
        [this](const Expr& part) {
          return std::ranges::any_of(
              rows_.rows, [&](const RowValue& row) { return expr::mentions(part, row.name); });
        },
        [this](const Expr& part) { return rounds_little(part, spec_); });
    folded.value = expr::simplify(folded.value);
    return folded;
  }

  static void take_factor(PairElement& element) {
    const auto [factor, rest] = split_factor(element.value);
    if (expr::is_normal_float(factor)) element = {rest, factor};
  }

  Expr of_score(const Expr& e) const { return expr::substitute(e, {{"score", score_}}); }

  // In fp16 the weight may not fit without its factor.
  void take_factor_of_weights() {
    if (spec_.dtype == spec::DType::Bf16 && rows_.row_free() && counts_alone(rows_)) {
      const auto [factor, rest] = split_factor(form_.weight);
      // An output may take its reciprocal.
      if (expr::is_normal_float(factor) && expr::is_normal_float(1 / factor)) {
        form_.weight_factor = factor;
        form_.weight = rest;
      }
    }
    if (abilities_.rounds_positive_part && form_.weight.op() == Op::Relu && !sums_weights(rows_) &&
        is_no_nan(form_.weight.operand(0))) {
      form_.weight = form_.weight.operand(0);
      form_.positive_part = true;
    }
  }

  void form_far() {
    if (!abilities_.far) return;
    FarForm far;
    far.slope = arranger_.slope_of_power(prepared(of_score(rows_.weight)));
    if (far.slope) {
      const Growth growth = growth_of(far.slope, spec_.heads.q);
      if (growth == Growth::Falls) far.slope = {};
      far.may_fall = growth == Growth::AsInputsSay;
    }
    if (!far.slope) far.key_weight = key_weight_of_spec();
    if (!far.slope && !far.key_weight) return;
    FarRows rows = far_rows(spec_, rows_);
    if (!rows.obstacle && !far.slope && sums_of_products(rows.sums) > 0)
      rows.obstacle = kUnevenAbsolutes;
    form_.far_obstacle = rows.obstacle;
    if (rows.obstacle) return;
    if (far.slope) far.slope = arranger_.constant(far.slope);
    far.sums = std::move(rows.sums);
    form_.far = std::move(far);
  }

  // Of loads as the spec has them, since a kernel before this one reads them, without the factor
  // that the output has.
  std::optional<KeyWeight> key_weight_of_spec() const {
    const Expr weight = expr::substitute(rows_.weight, {{"score", own_score_}});
    auto key = key_weight(expr::simplify(by_powers_of_two(weight)),
                          [this](const Expr& part) { return arranger_.varies(part); });
    if (key && form_.weight_factor != 1) {
      const Expr rest = expr::number(1 / form_.weight_factor);
      key->of_row = expr::simplify(expr::make(Op::Multiply, {key->of_row, rest}));
    }
    return key;
  }

  const spec::Spec& spec_;
  const RowForm& rows_;
  PairAbilities abilities_;
  PairForm form_;
  Arranger arranger_{rows_, form_, !spec_.gathers_lists()};
  KeyRows key_rows_{spec_, arranger_, form_.key_rows};
  Strips strips_{abilities_.strips, [this](const Expr& e) { return arranger_.grows_evenly(e); },
                 [this](const Expr& load, size_t dim) { return index_in_range(spec_, load, dim); }};
  RowTables row_tables_{spec_, strips_, form_.row_tables};
  Expr own_score_, score_;  // of products: as the spec has it, and prepared
};

// The factor of tanh(product * factor), or nothing.
std::optional<double> cap_factor(const PairForm& form) {
  if (!form.score || form.score.op() != Op::Tanh) return std::nullopt;
  const Expr& argument = form.score.operand(0);
  if (argument.op() != Op::Multiply || argument.operand(0).op() != Op::Variable ||
      argument.operand(0).name() != kProduct || !argument.operand(1).is_number() ||
      argument.operand(1).number() <= 0) {
    return std::nullopt;
  }
  return argument.operand(1).number();
}

// Leaves a factor of the weight 1 / (1 + 2^exponent) to the output.
void leave_factor(PairForm& form, const Expr& exponent, double factor) {
  const Expr n = expr::number(factor);
  const Expr power = expr::make(Op::Multiply, {expr::make(Op::Exp2, {exponent}), n});
  form.weight = expr::make(Op::Divide, {expr::number(1), expr::make(Op::Add, {power, n})});
  form.weight_factor *= factor;
}

}  // namespace

PairForm pair_form(const spec::Spec& spec, const RowForm& rows, PairAbilities abilities) {
  PairForm form = Former(spec, rows, spec.scale, abilities).form();
  const bool flushes = spec.dtype == spec::DType::Fp16 && abilities.flushes_subnormals;
  if (flushes && rows.row_free() && counts_alone(rows)) {
    constexpr double kSmaller = 0x1p-15;  // without it a sigmoid is at most 2^15, an fp16
    const Expr exponent = logistic_exponent(form.weight);
    if (exponent) leave_factor(form, exponent, kSmaller);
  }
  if (!abilities.near || spec.dtype != spec::DType::Bf16) return form;
  if (rows.exponential) {
    const auto factor = cap_factor(form);
    const auto near = factor ? near_cap(form.unit, *factor) : std::nullopt;
    if (near) {
      form = Former(spec, rows, std::ldexp(spec.scale, near->query_shift), abilities).form();
    }
    form.near_cap = near;
  } else if (rows.row_free() && rows.reductions.empty()) {
    const Expr exponent = logistic_exponent(form.weight);
    if (exponent) form.near_logistic = near_logistic(exponent);
    if (form.near_logistic) leave_factor(form, exponent, form.near_logistic->factor);
  }
  return form;
}

bool is_divided_key(const Expr& e) {
  return (e.op() == Op::FloorDivide || e.op() == Op::Modulo) && e.type() == Type::Int &&
         e.operand(0).op() == Op::Variable && e.operand(0).name() == "kv_idx" &&
         e.operand(1).is_number() && e.operand(1).number() > 0;
}

std::span<const std::string> pair_variables() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"score", "kv_idx", kProduct, kColumn, kBias, kByte, kOfDistance};
    for (size_t i = 0; i < kMostOfKey; ++i) all.push_back(name_of_key(i));
    for (size_t word = 0; word < kMostKeyWords; ++word) {
      for (const char* const kind : {kKeyWord, kKeyFloat}) {
        all.push_back(kind + std::to_string(word));
      }
    }
    return all;
  }();
  return names;
}

bool varies_in_row(const Expr& e) {
  const auto names = pair_variables();
  return expr::find_node(e, [&](const Expr& node) {
           return node.op() == Op::Variable && std::ranges::count(names, node.name()) > 0;
         }) != nullptr;
}

bool is_of_scores(std::string_view variable) { return variable == "score" || variable == kProduct; }

bool is_multiple_of_product(const Expr& e) {
  if (e.op() == Op::Variable) return e.name() == kProduct;
  return e.op() == Op::Multiply && e.operand(0).op() == Op::Variable &&
         e.operand(0).name() == kProduct && e.operand(1).is_number();
}

bool makes_step(const Expr& e) { return expr::makes_step(e, is_of_scores); }

expr::OperationCounts operations_of_pair(std::span<const Expr> all, expr::Accuracy accuracy) {
  return expr::count(all, pair_variables(), accuracy, is_of_scores);
}

expr::OperationCounts operations_of_pair(const Expr& e, expr::Accuracy accuracy) {
  return operations_of_pair(std::span(&e, 1), accuracy);
}

Expr logistic_exponent(const Expr& e) {
  if (e.op() != Op::Divide || !e.operand(0).is_number(1)) return {};
  const Expr& sum = e.operand(1);
  if (sum.op() != Op::Add) return {};
  for (const size_t i : {0u, 1u}) {
    const Expr &constant = sum.operand(i), &power = sum.operand(1 - i);
    if (!constant.is_number()) continue;
    if (constant.is_number(1) && power.op() == Op::Exp2) return power.operand(0);
    if (power.op() == Op::Multiply && power.operand(0).op() == Op::Exp2 &&
        expr::same(power.operand(1), constant)) {
      return power.operand(0).operand(0);
    }
  }
  return {};
}

}  // namespace attngen::attention
