#include "attention/pair_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attention/interval_mask.h"
#include "attention/known.h"
#include "attention/linear.h"
#include "attention/powers_of_two.h"
#include "attention/reductions.h"
#include "attention/terms.h"
#include "attention/tiles.h"
#include "expr/simplify.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using expr::Type;

Expr variable_of(const char* name) { return expr::variable(name, Type::Float); }

// Registers for more would cost more than they save.
constexpr size_t kMostKept = 6;
constexpr size_t kMostKeyRows = 2;  // an address is two registers

// e = product * `product` + kv_idx * `key` + what does not vary in the row; empty for 0.
struct Slopes {
  Expr product, key;
};

class Arranger {
 public:
  Arranger(const RowForm& rows, PairForm& form) : rows_(rows), form_(form) {}

  // Whether it differs between the pairs of a row, or between blocks.
  bool varies(const Expr& e) const {
    if (const auto* known = varies_.find(e)) return *known;
    return varies_.keep(e, decide_varies(e));
  }

  std::optional<Slopes> slopes(const Expr& e) const {
    if (!varies(e)) return Slopes{};
    if (const auto* known = slopes_.find(e)) return *known;
    return slopes_.keep(e, find_slopes(e));
  }

  // Whether it takes a pair no more than a power of what grows evenly along the keys.
  bool grows_evenly(const Expr& e) const {
    if (slopes(e)) return true;
    if (e.op() == Op::Exp2) return slopes(e.operand(0)).has_value();
    if (e.op() != Op::Multiply) return false;
    return (!varies(e.operand(0)) && grows_evenly(e.operand(1))) ||
           (!varies(e.operand(1)) && grows_evenly(e.operand(0)));
  }

  // By which the exponent of a far form grows from a key to the next, if `weight` has one.
  Expr slope_of_power(const Expr& weight) {
    const Expr exponent = far_exponent(weight, [this](const Expr& e) { return varies(e); });
    if (exponent && exponent.is_number()) return expr::number(0);  // linear attention, no decay
    const auto found = exponent ? slopes(exponent) : std::nullopt;
    if (!found || !found->key || found->product) return {};
    for (const char* query : {"q_idx", "q_pos"}) {
      if (expr::mentions(found->key, query)) return {};
    }
    return constant(expr::simplify(found->key));
  }

  // What is left of an affine `e` where the product is 0; kv_idx becomes the thread's first key.
  static Expr rest(const Expr& e) {
    return expr::simplify(expr::substitute(e, {{kProduct, expr::number(0)}}));
  }

  // `e` with constants and lines taken out.
  Expr arrange(const Expr& e) {
    if (!varies(e)) return constant(e);
    if (const Expr* known = arranged_.find(e)) return *known;
    if (e.type() == Type::Float && e.op() != Op::Variable) {
      const auto found = slopes(e);
      const bool has_room = !found || !found->key || form_.lines.size() < kMostKept;
      if (found && has_room) return arranged_.keep(e, affine(e, *found, false));
    }
    return arranged_.keep(
        e, with_arranged(e, [this](const Expr& operand) { return arrange(operand); }));
  }

  // An affine expression: as few multiply-adds as it takes. The base of one that reads kv_idx is a
  // line, or kBase if that is asked for: a pair then has registers alone, and no inputs.
  Expr affine(const Expr& e, const Slopes& found, bool own_base) {
    Expr sum = rest(e);
    // Keys that cancel, as whole numbers may, leave the same at any.
    if (!found.key) sum = expr::simplify(expr::substitute(sum, {{"kv_idx", expr::integer(0)}}));
    const auto slope = [&](const Expr& of) {
      const Expr simple = expr::simplify(of);
      return own_base && !expr::inputs_of(simple).empty() ? kept(simple) : constant(simple);
    };
    if (found.key) {
      const Expr first = with_constants(sum);
      const Expr base = own_base ? variable_of(kBase) : variable_of(line(first).c_str());
      sum = expr::make(Op::Add,
                       {expr::make(Op::Multiply, {variable_of(kColumn), slope(found.key)}), base});
      if (own_base) form_.base = first;
    } else if (own_base) {
      form_.base = constant(sum);
      sum = variable_of(kBase);
    } else {
      sum = constant(sum);
    }
    if (!found.product) return sum;
    const Expr factor = slope(found.product);
    const Expr term = factor.is_number(1)
                          ? variable_of(kProduct)
                          : expr::make(Op::Multiply, {variable_of(kProduct), factor});
    return sum.is_number(0) ? term : expr::make(Op::Add, {term, sum});
  }

  // `e` with constants taken out alone.
  Expr with_constants(const Expr& e) {
    if (!varies(e)) return constant(e);
    return with_arranged(e, [this](const Expr& operand) { return with_constants(operand); });
  }

 private:
  bool decide_varies(const Expr& e) const {
    if (e.op() == Op::Variable) {
      for (const char* pair : {"score", "kv_idx", kProduct, kBias, kOfKey, kOfDistance}) {
        if (e.name() == pair) return true;
      }
      if (e.name().starts_with(kKeyWord) || e.name().starts_with(kKeyFloat)) return true;
      return std::any_of(rows_.rows.begin(), rows_.rows.end(), [&](const RowValue& row) {
        return e.name() == row.name || e.name() == old_name(row.name);
      });
    }
    return std::any_of(e.operands().begin(), e.operands().end(),
                       [&](const Expr& operand) { return varies(operand); });
  }

  std::optional<Slopes> find_slopes(const Expr& e) const {
    switch (e.op()) {
      case Op::Variable:
        if (e.name() != kProduct) return std::nullopt;
        return Slopes{expr::number(1), {}};
      case Op::ToFloat:
        return slopes_of_int(e.operand(0));
      case Op::Negate: {
        const auto x = slopes(e.operand(0));
        if (!x) return std::nullopt;
        return Slopes{negated(x->product), negated(x->key)};
      }
      case Op::Add:
      case Op::Subtract: {
        const auto x = slopes(e.operand(0)), y = slopes(e.operand(1));
        if (!x || !y) return std::nullopt;
        return Slopes{sum(e.op(), x->product, y->product), sum(e.op(), x->key, y->key)};
      }
      case Op::Multiply:
        if (!varies(e.operand(1))) return scaled(e.operand(0), Op::Multiply, e.operand(1));
        if (!varies(e.operand(0))) return scaled(e.operand(1), Op::Multiply, e.operand(0));
        return std::nullopt;
      case Op::Divide:
        if (varies(e.operand(1))) return std::nullopt;
        return scaled(e.operand(0), Op::Divide, e.operand(1));
      default:
        return std::nullopt;
    }
  }

  static Expr negated(const Expr& e) { return e ? expr::make(Op::Negate, {e}) : e; }
  static Expr sum(Op op, const Expr& x, const Expr& y) {
    if (!y) return x;
    if (!x) return op == Op::Subtract ? negated(y) : y;
    return expr::make(op, {x, y});
  }
  std::optional<Slopes> scaled(const Expr& e, Op op, const Expr& by) const {
    const auto x = slopes(e);
    if (!x) return std::nullopt;
    const auto scale = [&](const Expr& slope) {
      return slope ? expr::make(op, {slope, by}) : slope;
    };
    Slopes result{scale(x->product), scale(x->key)};
    if (!fits_float(result.product) || !fits_float(result.key)) return std::nullopt;
    return result;
  }
  // Numbers may come together beyond what a float holds, though each of them is one.
  static bool fits_float(const Expr& slope) {
    if (!slope) return true;
    const Expr simple = expr::simplify(slope);
    return !simple.is_number() || simple.is_number(0) || expr::is_normal_float(simple.number());
  }
  // Whole numbers: evenly growing if kv_idx stands by itself, times a number.
  std::optional<Slopes> slopes_of_int(const Expr& e) const {
    const auto sum = linear(e);
    if (!sum) return std::nullopt;
    Slopes result;
    for (const Linear::Term& term : sum->terms) {
      if (!varies(term.atom)) continue;
      if (term.atom.op() != Op::Variable || term.atom.name() != "kv_idx") return std::nullopt;
      result.key = expr::number(static_cast<double>(term.coefficient));
    }
    return result;
  }

  template <typename F>
  static Expr with_arranged(const Expr& e, const F& arranged) {
    if (e.operands().empty()) return e;
    std::vector<Expr> operands;
    for (const Expr& operand : e.operands()) operands.push_back(arranged(operand));
    return with_operands(e, std::move(operands));
  }
  // Whether a register is better spent on it than the instructions: not on sums of whole numbers.
  static bool is_costly(const Expr& e) {
    if (e.op() == Op::Load) return !e.operands().empty();
    const bool cheap = e.type() != Type::Float &&
                       (e.operands().empty() || e.op() == Op::Add || e.op() == Op::Subtract ||
                        e.op() == Op::Min || e.op() == Op::Max);
    if (!cheap && !e.operands().empty() && e.type() != Type::Bool) return true;
    return std::any_of(e.operands().begin(), e.operands().end(), is_costly);
  }

  // A constant along the row: computed before the loop, unless it is at hand.
  Expr constant(const Expr& e) {
    if (!is_costly(e)) return e;
    if (e.type() == Type::Bool) {  // what it compares is kept: no register is one bit
      return with_arranged(e, [this](const Expr& operand) { return constant(operand); });
    }
    if (Expr simple = expr::simplify(e); simple.is_number()) return simple;
    const bool is_kept = std::ranges::any_of(
        form_.constants, [&](const spec::NamedExpr& known) { return expr::same(known.value, e); });
    return is_kept || form_.constants.size() < kMostKept ? kept(e) : e;
  }
  Expr kept(const Expr& e) {
    for (const spec::NamedExpr& known : form_.constants) {
      if (expr::same(known.value, e)) return expr::variable(known.name, e.type());
    }
    form_.constants.push_back({fmt::format("{}c{}", kOwnName, form_.constants.size()), e});
    return expr::variable(form_.constants.back().name, e.type());
  }

  std::string line(const Expr& first) {
    for (const Line& known : form_.lines) {
      if (expr::same(known.first, first)) return known.name;
    }
    form_.lines.push_back({fmt::format("{}l{}", kOwnName, form_.lines.size()), first});
    return form_.lines.back().name;
  }

  const RowForm& rows_;
  PairForm& form_;
  mutable Known<bool> varies_;
  mutable Known<std::optional<Slopes>> slopes_;
  Known<Expr> arranged_;
};

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

// The positive number that a product has as a factor, taken out of it.
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
  const auto exponent_of = [](const Expr& e) {
    return expr::simplify(expr::make(Op::Multiply, {expr::number(std::numbers::log2e), e}));
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

bool PairForm::reads(const char* variable) const {
  const auto any = [&](const Expr& e) { return e && expr::mentions(e, variable); };
  return any(score) || any(weight) || std::any_of(elements.begin(), elements.end(), any);
}

namespace {

// `scale` is that of the products.
class Former {
 public:
  Former(const spec::Spec& spec, const RowForm& rows, double scale, PairAbilities abilities)
      : spec_(spec), rows_(rows), abilities_(abilities) {
    if (abilities.bias) form_.bias = pair_input(spec);
    const Expr product = expr::make(Op::Multiply, {variable_of(kProduct), expr::number(scale)});
    score_ = prepared(expr::substitute(spec.score, {{"score", product}}));
  }

  PairForm form() {
    form_mask();
    if (rows_.exponential) {
      form_.score = arranged_score(by_key_rows(score_), rows_, arranger_, form_);
    } else {
      form_rows();
      take_factor_of_weights();
      form_far();
    }
    form_.of_key = strips_.of_key();
    form_.of_distance = strips_.of_distance();
    form_.key_words = strips_.key_words();
    return std::move(form_);
  }

 private:
  // With what comes by tiles and by strips.
  Expr prepared(const Expr& e) {
    const auto biased = [&](const Expr& load) {
      return form_.bias && expr::same(load, form_.bias->load) ? variable_of(kBias) : load;
    };
    const Expr result = expr::simplify(by_powers_of_two(replace_loads(e, biased)));
    return abilities_.strips ? strips_(result) : result;
  }
  // Of what is prepared to the end: an address says no more on which pairs its elements depend.
  Expr by_key_rows(const Expr& e) {
    return abilities_.key_rows ? replace_loads(e, std::ref(key_rows_)) : e;
  }

  void form_mask() {
    const bool tested = !has_row_limits(key_range(spec_.mask, spec_.inputs));
    // Lines are of a thread's keys that exist: which ones do is found without.
    form_.mask = spec_.mask;
    if (abilities_.strips && tested && !has_searched_limits(spec_, rows_)) {
      form_.mask = strips_.with_key_words(form_.mask);
    }
    if (tested && arranger_.varies(form_.mask)) form_.mask = arranger_.with_constants(form_.mask);
  }

  void form_rows() {
    // A score that is no more than a multiply-add, or that is the weight, is made where it is read,
    // unless a later pass over the block reads it again.
    const bool one_pass = std::ranges::all_of(rows_.reductions, &Reduction::deferred);
    const bool is_weight = rows_.reductions.empty() && rows_.weight.op() == Op::Variable;
    const bool inline_score = one_pass && (is_weight || arranger_.slopes(score_));
    const auto with_score = [&](const Expr& e) {
      return arranger_.arrange(by_key_rows(prepared(inline_score ? of_score(e) : e)));
    };
    if (!inline_score) form_.score = arranger_.arrange(by_key_rows(score_));
    form_.weight = with_score(rows_.weight);
    for (const Reduction& reduction : rows_.reductions) {
      form_.elements.push_back(with_score(reduction.element));
    }
  }

  Expr of_score(const Expr& e) const { return expr::substitute(e, {{"score", score_}}); }

  // In fp16 the weight may not fit without its factor; a sum may be that of the weights.
  void take_factor_of_weights() {
    const bool counts_only = std::ranges::all_of(
        rows_.reductions, [](const Reduction& reduction) { return reduction.element.is_number(); });
    if (!counts_only) return;
    if (spec_.dtype == spec::DType::Bf16 && rows_.row_free()) {
      const auto [factor, rest] = split_factor(form_.weight);
      // An output may take its reciprocal.
      if (expr::is_normal_float(factor) && expr::is_normal_float(1 / factor)) {
        form_.weight_factor = factor;
        form_.weight = rest;
      }
    }
    if (abilities_.rounds_positive_part && form_.weight.op() == Op::Relu) {
      form_.weight = form_.weight.operand(0);
      form_.positive_part = true;
    }
  }

  void form_far() {
    auto sums = abilities_.far ? far_sums(spec_, rows_) : std::nullopt;
    if (!sums) return;
    const Expr slope = arranger_.slope_of_power(prepared(of_score(rows_.weight)));
    if (slope) form_.far = FarForm{slope, std::move(*sums)};
  }

  const spec::Spec& spec_;
  const RowForm& rows_;
  PairAbilities abilities_;
  PairForm form_;
  Arranger arranger_{rows_, form_};
  KeyRows key_rows_{spec_, arranger_, form_.key_rows};
  Strips strips_{[this](const Expr& e) { return arranger_.grows_evenly(e); }};
  Expr score_;  // of products
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

}  // namespace

PairForm pair_form(const spec::Spec& spec, const RowForm& rows, PairAbilities abilities) {
  PairForm form = Former(spec, rows, spec.scale, abilities).form();
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
    if (form.near_logistic) {
      const Expr factor = expr::number(form.near_logistic->factor);
      const Expr power = expr::make(Op::Multiply, {expr::make(Op::Exp2, {exponent}), factor});
      form.weight = expr::make(Op::Divide, {expr::number(1), expr::make(Op::Add, {power, factor})});
      form.weight_factor *= form.near_logistic->factor;
    }
  }
  return form;
}

std::span<const std::string> pair_variables() {
  static const std::vector<std::string> names{"score", "kv_idx", kProduct,   kColumn,
                                              kBias,   kOfKey,   kOfDistance};
  return names;
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
