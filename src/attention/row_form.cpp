#include "attention/row_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attention/empty_row.h"
#include "attention/reductions.h"
#include "attention/separate.h"
#include "expr/ops.h"
#include "expr/print.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

std::string old_name(const std::string& row) { return "old_" + row; }

namespace {

const char* const kLanguageNames[] = {"score", "b",     "h",      "h_kv",  "q_idx", "kv_idx", "map",
                                      "q_pos", "seq_q", "seq_kv", "scale", "inf",   "acc"};

// "exp" for exp(...), "score" for the variable, "" where an element has no word of its own.
std::string word_of(const Expr& element) {
  switch (element.op()) {
    case Op::Variable:
    case Op::Load:
      return element.name();
    case Op::Exp:
    case Op::Exp2:
    case Op::Abs:
    case Op::Relu:
    case Op::Square:
    case Op::Sigmoid:
    case Op::Tanh:
      return std::string(expr::spelling(element.op()));
    default:
      return {};
  }
}

std::string pointer_to_row(const std::string& name) { return "/normalize/rows/" + name; }

class Derivation {
 public:
  explicit Derivation(const spec::Normalizer& normalizer) : normalizer_(normalizer) {
    take_names();
    names_.is_row = [this](const std::string& name) { return changing_.contains(name); };
    names_.is_positive = [this](const std::string& name) { return positive_.contains(name); };
  }

  std::variant<RowForm, Refusal> run() {
    for (const spec::NamedExpr& row : normalizer_.rows) {
      add_row(row);
      if (refusal_) return *refusal_;
    }
    add_weight();
    if (refusal_) return *refusal_;
    form_.saves = normalizer_.saves;
    mark_in_loop();
    find_exponential();
    set_empty_test();
    return form_;
  }

 private:
  void refuse(std::string pointer, expr::Span span, std::string message, std::string help) {
    if (!refusal_)
      refusal_ = Refusal{std::move(pointer), {span, std::move(message), std::move(help)}};
  }

  void take_names() {
    taken_.insert(std::begin(kLanguageNames), std::end(kLanguageNames));
    const auto take = [this](const Expr& e) {
      for (const auto& names : {expr::variables_of(e), expr::inputs_of(e)}) {
        taken_.insert(names.begin(), names.end());
      }
    };
    for (const auto* list : {&normalizer_.rows, &normalizer_.saves}) {
      for (const spec::NamedExpr& named : *list) {
        taken_.insert({named.name, old_name(named.name)});
        take(named.value);
      }
    }
    take(normalizer_.weight);
    take(normalizer_.output);
  }

  std::string fresh_name(Reduction::Kind kind, const Expr& element) {
    const std::string prefix = kind == Reduction::Kind::Max ? "max_" : "sum_";
    const std::string word = word_of(element);
    std::string name = prefix + (word.empty() ? "1" : word);
    for (int i = 2; taken_.contains(name); ++i) {
      name =
          word.empty() ? fmt::format("{}{}", prefix, i) : fmt::format("{}{}_{}", prefix, word, i);
    }
    taken_.insert(name);
    return name;
  }

  void add_row(const spec::NamedExpr& row) {
    const Expr value = replace_reductions(
        row.value, [&](const Expr& reduction) { return add_reduction(row.name, reduction); });
    if (refusal_) return;
    const auto variables = expr::variables_of(value);
    if (std::any_of(variables.begin(), variables.end(),
                    [this](const std::string& name) { return changing_.contains(name); })) {
      changing_.insert(row.name);
    }
    if (is_positive(value, names_)) positive_.insert(row.name);
    form_.rows.push_back({.name = row.name,
                          .value = value,
                          .without_pairs = moved_ ? of_identities(row.value) : Expr()});
    moved_ = false;
  }

  static Expr of_identities(const Expr& row) {
    return replace_reductions(row, [](const Expr& reduction) {
      return expr::number(reduction.op() == Op::RowMax ? -expr::kInfinity : 0);
    });
  }

  // The expression that stands for the reduction in the row's value.
  Expr add_reduction(const std::string& row, const Expr& reduction) {
    const std::string pointer = pointer_to_row(row);
    return reduction.op() == Op::RowMax ? add_max(pointer, reduction) : add_sum(pointer, reduction);
  }

  Expr add_sum(const std::string& pointer, const Expr& reduction) {
    Mixed mixed;
    const auto separation = separate(reduction.operand(0), names_, mixed);
    if (!separation) {
      refuse_inseparable(pointer, "rowsum", mixed, two_sums(reduction.operand(0), mixed.part));
      return reduction;
    }
    return moved(intern(Reduction::Kind::Sum, *separation), separation->factor);
  }

  // max(f + shift) = max(f) + shift; else max(A f) = A max(f) for A > 0.
  Expr add_max(const std::string& pointer, const Expr& reduction) {
    if (const auto shift = separate_shift(reduction.operand(0), names_)) {
      Expr running = intern(Reduction::Kind::Max, {{}, expr::number(1), shift->rest});
      if (!shift->shift) return running;
      moved_ = true;
      return expr::make(Op::Add, {running, shift->shift});
    }
    Mixed mixed;
    const auto separation = separate(reduction.operand(0), names_, mixed);
    if (!separation || !is_positive(separation->factor, names_)) {
      refuse_max(pointer, separation ? Mixed{reduction.operand(0)} : mixed);
      return reduction;
    }
    return moved(intern(Reduction::Kind::Max, *separation), separation->factor);
  }

  Expr moved(const Expr& running, const Expr& factor) {
    moved_ = moved_ || !factor.is_number(1);
    return times(running, factor);
  }

  // The variable of the running reduction: of an equal one if there is one already.
  Expr intern(Reduction::Kind kind, const Separation& separation) {
    for (const Reduction& known : form_.reductions) {
      if (known.kind == kind && expr::same(known.element, separation.kept)) {
        return expr::variable(known.name, expr::Type::Float);
      }
    }
    const std::string name = fresh_name(kind, separation.kept);
    form_.reductions.push_back({.kind = kind,
                                .name = name,
                                .element = separation.kept,
                                .rescale = ratio(separation.exponent, names_, old_name)});
    changing_.insert(name);
    if (is_positive(separation.kept, names_)) positive_.insert(name);
    return expr::variable(name, expr::Type::Float);
  }

  void add_weight() {
    Mixed mixed;
    const auto separation = separate(normalizer_.weight, names_, mixed);
    if (!separation) {
      refuse_inseparable("/normalize/weight", "weight", mixed);
      return;
    }
    form_.weight = separation->kept;
    form_.rescale = ratio(separation->exponent, names_, old_name);
    form_.output = normalizer_.output;
    if (!separation->factor.is_number(1)) {
      const Expr acc = expr::variable("acc", expr::Type::Float);
      form_.output = expr::substitute(form_.output, {{"acc", times(acc, separation->factor)}});
    }
  }

  static const char* pair_of(const Mixed& mixed) {
    return expr::mentions(mixed.part, "score") ? "score" : "kv_idx";
  }

  std::string row_of(const Mixed& mixed) const {
    std::string row;
    for (const std::string& name : expr::variables_of(mixed.part)) {
      if (names_.is_row(name)) row = name;
    }
    return row;
  }

  std::string must_come_apart(const Mixed& mixed, std::string_view how) const {
    return fmt::format("'{}' must come apart into a part that reads '{}' {}",
                       expr::print_brief(mixed.part), pair_of(mixed), how);
  }

  std::string must_be_sum(const Mixed& mixed) const {
    const std::string row = row_of(mixed);
    return must_come_apart(mixed, fmt::format("plus a part that reads '{}', as {} - {} does", row,
                                              pair_of(mixed), row));
  }

  std::string must_be_product(const Mixed& mixed) const {
    const std::string row = row_of(mixed);
    return must_come_apart(mixed, fmt::format("times a part that reads '{}', as exp({} - {}) does",
                                              row, pair_of(mixed), row));
  }

  // A sum of what a difference of a pair's and a row's value multiplies, x * (score - m), is one of
  // x * score and m times one of x; "" of all others.
  std::string two_sums(const Expr& summand, const Expr& part) const {
    if (summand.op() != Op::Multiply || part.op() != Op::Subtract) return "";
    const Expr &a = summand.operand(0), &b = summand.operand(1);
    const bool is_first = a.identity() == part.identity();
    if (!is_first && b.identity() != part.identity()) return "";
    const Expr &rest = is_first ? b : a, &pair = part.operand(0), &row = part.operand(1);
    if (reads_rows(pair, names_) || reads_pair(row)) return "";
    const Expr sum = expr::make(Op::RowSum, {rest});
    const Expr whole = expr::make(
        Op::RowSum, {expr::make(Op::Multiply, {is_first ? pair : rest, is_first ? rest : pair})});
    // The latter may be a row already.
    const auto known = std::ranges::find_if(normalizer_.rows, [&](const spec::NamedExpr& named) {
      return expr::same(named.value, sum);
    });
    const Expr of_rest =
        known != normalizer_.rows.end() ? expr::variable(known->name, expr::Type::Float) : sum;
    return fmt::format("a sum of differences is two sums: {} and {}", expr::print_brief(whole),
                       expr::print_brief(expr::make(Op::Multiply, {row, of_rest})));
  }

  void refuse_inseparable(const std::string& pointer, const char* what, const Mixed& mixed,
                          std::string help = {}) {
    if (help.empty()) help = mixed.in_exponent ? must_be_sum(mixed) : must_be_product(mixed);
    refuse(pointer, mixed.part.span(),
           fmt::format("{} has no online form: the factor by which earlier sums rescale would "
                       "depend on '{}'",
                       what, pair_of(mixed)),
           std::move(help));
  }

  // A maximum may also move by a summand, but not by a factor that may turn its order round.
  void refuse_max(const std::string& pointer, const Mixed& mixed) {
    const std::string row = row_of(mixed);
    const std::string how = fmt::format(
        "plus a part that reads '{}', or times one that is above zero, as exp({}) is", row, row);
    refuse(pointer, mixed.part.span(),
           fmt::format("rowmax has no online form: how an earlier maximum follows '{}' would "
                       "depend on '{}'",
                       row, pair_of(mixed)),
           mixed.in_exponent ? must_be_sum(mixed) : must_come_apart(mixed, how));
  }

  // The rows that the pairs' functions read, and those that these read.
  void mark_in_loop() {
    std::set<std::string> read;
    const auto read_by = [&read](const Expr& e) {
      const auto names = expr::variables_of(e);
      read.insert(names.begin(), names.end());
    };
    read_by(form_.weight);
    for (const Reduction& reduction : form_.reductions) read_by(reduction.element);
    for (auto row = form_.rows.rbegin(); row != form_.rows.rend(); ++row) {
      row->in_loop = read.contains(row->name);
      if (row->in_loop) read_by(row->value);
    }
    for (Reduction& reduction : form_.reductions)
      reduction.deferred = !read.contains(reduction.name);
  }

  // A maximum of `name` and of what is constant along the row.
  bool is_capped_max(const Expr& e, const std::string& name) const {
    if (e.op() == Op::Variable) return e.name() == name;
    const auto constant = [this](const Expr& x) {
      return !reads_rows(x, names_) && !expr::mentions(x, "kv_idx");
    };
    return e.op() == Op::Max && ((is_capped_max(e.operand(0), name) && constant(e.operand(1))) ||
                                 (is_capped_max(e.operand(1), name) && constant(e.operand(0))));
  }

  void find_exponential() {
    const Expr& weight = form_.weight;
    if (weight.op() != Op::Exp || weight.operand(0).op() != Op::Subtract) return;
    const Expr& score = weight.operand(0).operand(0);
    const Expr& max = weight.operand(0).operand(1);
    if (score.op() != Op::Variable || score.name() != "score" || max.op() != Op::Variable) return;
    const auto row = std::find_if(form_.rows.begin(), form_.rows.end(),
                                  [&](const RowValue& r) { return r.name == max.name(); });
    if (row == form_.rows.end()) return;
    std::string reduction, sum;
    for (const Reduction& r : form_.reductions) {
      const bool is_max = r.kind == Reduction::Kind::Max && expr::same(r.element, score);
      if (is_max && is_capped_max(row->value, r.name)) {
        reduction = r.name;
      } else if (r.kind == Reduction::Kind::Sum && expr::same(r.element, weight)) {
        sum = r.name;
      } else {
        return;
      }
    }
    if (reduction.empty() || sum.empty()) return;
    form_.exponential = true;
    form_.max_row = row->name;
    form_.max_reduction = reduction;
    if (row->value.op() == Op::Max) form_.empty_sum = sum;
  }

  void set_empty_test() {
    const bool any_moved = std::any_of(form_.rows.begin(), form_.rows.end(),
                                       [](const RowValue& row) { return bool{row.without_pairs}; });
    if (!any_moved && is_zero_without_pairs(form_)) return;
    // A maximum of scores tells of a row whose scores are all -inf too.
    for (const bool of_scores : {true, false}) {
      for (const Reduction& reduction : form_.reductions) {
        if (reduction.kind != Reduction::Kind::Max) continue;
        if (of_scores && !expr::mentions(reduction.element, "score")) continue;
        form_.empty = EmptyTest::Max;
        form_.empty_reduction = reduction.name;
        return;
      }
    }
    const std::string name =
        fresh_name(Reduction::Kind::Sum, expr::variable("pairs", expr::Type::Float));
    form_.reductions.push_back({.kind = Reduction::Kind::Sum,
                                .name = name,
                                .element = expr::number(1),
                                .rescale = expr::number(1)});
    form_.empty = EmptyTest::Count;
    form_.empty_reduction = name;
  }

  const spec::Normalizer& normalizer_;
  std::set<std::string> taken_;
  std::set<std::string> changing_;  // reductions, and rows that read one, transitively
  std::set<std::string> positive_;  // above zero wherever the row has a pair
  bool moved_ = false;              // the row at hand has a reduction times a factor, or shifted
  RowNames names_;
  RowForm form_;
  std::optional<Refusal> refusal_;
};

}  // namespace

std::variant<RowForm, Refusal> derive_row_form(const spec::Normalizer& normalizer) {
  return Derivation(normalizer).run();
}

}  // namespace attngen::attention
