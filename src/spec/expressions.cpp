#include "spec/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "expr/ops.h"
#include "spec/doubts.h"
#include "spec/empty_mask.h"
#include "spec/fields.h"
#include "spec/indices.h"
#include "spec/lets.h"
#include "spec/macros.h"
#include "spec/names.h"
#include "spec/numbers.h"
#include "spec/scopes.h"
#include "spec/wide_numbers.h"
#include "text/characters.h"

namespace attngen::spec {
namespace {

// The first place outside of rowmax and rowsum that reads a value of a pair.
const expr::Expr* find_pair_value(const expr::Expr& e, std::set<const void*>& seen) {
  if (e.op() == expr::Op::RowMax || e.op() == expr::Op::RowSum) return nullptr;
  if (!seen.insert(e.identity()).second) return nullptr;
  if (e.op() == expr::Op::Variable && (e.name() == "score" || e.name() == "kv_idx")) return &e;
  for (const expr::Expr& operand : e.operands()) {
    if (const expr::Expr* found = find_pair_value(operand, seen)) return found;
  }
  return nullptr;
}

class ExpressionReader {
 public:
  ExpressionReader(const Node& root, Spec& spec, Report& report)
      : root_(root), spec_(spec), report_(report), scopes_(root, spec) {}

  // Names that stand for texts. A text is read anew wherever its name stands, since what it may
  // name differs; what is wrong with it everywhere is said here.
  void read_lets() {
    const Node* lets = root_.find("let");
    if (lets == nullptr) return;
    for (const Node& let : lets->children) {
      if (!let.valid || !reads_somewhere(*lets, let)) {
        scopes_.add_broken(let.key);
        continue;
      }
      scopes_.add_let(let.key, let.text);
      spec_.lets.emplace_back(let.key, text::one_line(let.text));
    }
  }

  void read_parallel() {
    const Node* score = root_.find("score");
    const Node* mask = root_.find("mask");
    spec_.score_text = score != nullptr ? text::one_line(score->text) : "score";
    spec_.mask_text = mask != nullptr ? text::one_line(mask->text) : "true";
    spec_.score = parse(score, "/score", "score", names_of_score(score), expr::Type::Float);
    spec_.mask = parse(mask, "/mask", "true",
                       scopes_.without({kNoAcc,
                                        kNoColumn,
                                        {"score", "a mask cannot read it", limit_of_scores()},
                                        {"map", "both maps have the pairs of one mask"}}),
                       expr::Type::Bool);
    if (score != nullptr && spec_.score) {
      warn_in_text(*score, "/score", masking_in_score(spec_.score, score->text));
      warn_in_text(*score, "/score", score_of_nothing(spec_.score, score->text));
      if (has_usual_scale() && spec_.head_dim.qk > 0) {
        warn_in_text(*score, "/score", scaled_twice(spec_.score, spec_.head_dim.qk, score->text));
      }
      warn_in_text(*score, "/score", power_of_distance(spec_.score, score->text));
    }
    if (mask != nullptr && spec_.mask) {
      warn_in_text(*mask, "/mask", keys_below_float(spec_.mask, mask->text));
    }
    if (mask != nullptr && spec_.mask && knows_heads() && holds_for_no_pair(spec_.mask, spec_)) {
      report_.in_text(*mask, "/mask", {spec_.mask.span(), "the mask holds for no pair", ""});
    }
    read_normalizer();
    warn_of_unread_map();
  }

  void read_recurrent() {
    Recurrent out;
    const Reason no_q{"q", "only 'query' reads it"};
    const Reason no_k{"k", "only 'key' reads it"};
    const Reason no_v{"v", "only 'value' reads it"};
    const Reason no_acc{"acc", "only 'output' reads it"};
    const Reason no_d{"d", "delta is one value per token and head"};
    const auto read = [&](const char* name, const char* fallback,
                          std::initializer_list<Reason> forbidden) {
      return parse(root_.find(name), child("", name), fallback, scopes_.without(forbidden),
                   expr::Type::Float);
    };
    out.query = read("query", "q * scale", {no_k, no_v, no_acc});
    out.key = read("key", "k", {no_q, no_v, no_acc});
    out.value = read("value", "v", {no_q, no_k, no_acc});
    out.log_decay = read("log_decay", "0", {no_q, no_k, no_v, no_acc});
    if (root_.find("delta") != nullptr) {
      out.delta = read("delta", "", {no_q, no_k, no_v, no_acc, no_d});
    }
    if (root_.find("skip") != nullptr) out.skip = read("skip", "", {no_q, no_k, no_v, no_acc});
    out.output = read("output", "acc", {no_q, no_k, no_v});
    if (const Node* state = root_.find("state")) {
      const Node* initial = state->find("initial");
      const Node* final = state->find("final");
      out.initial_state = initial != nullptr && bool_of(*initial) == true;
      out.final_state = final != nullptr && bool_of(*final) == true;
    }
    spec_.recurrent = std::move(out);
  }

  // Of what a call must be given, and what is written for nothing.
  void warn_of_unread() {
    const Node* normalize = root_.find("normalize");
    warn_of_unread(root_.find("let"), "/let", "name");
    warn_of_unread(root_.find("inputs"), "/inputs", "input");
    warn_of_unread(root_.find("constants"), "/constants", "constant");
    if (normalize != nullptr) warn_of_left_out(normalize->find("rows"));
  }

 private:
  static constexpr std::pair<const char*, const char*> kSoftmaxRows[] = {
      {"m", "rowmax(score)"}, {"l", "rowsum(exp(score - m))"}};
  static constexpr const char* kSoftmaxWeight = "exp(score - m)";
  static constexpr const char* kSoftmaxOutput = "acc / l";
  static constexpr const char* kLse = "m + log(l)";
  static constexpr Reason kNoAcc{"acc", "only 'output' of normalize reads it"};
  static constexpr Reason kNoColumn{
      "d", "it counts the elements of O; only 'output' of normalize reads it"};
  static constexpr const char* kOfPairs =
      "it has a value for each pair; 'weight' reads it, and rowmax and rowsum in 'rows'";

  static constexpr const char* kScaled =
      "score is scaled already by 1/sqrt(head_dim.qk): see scale";
  static constexpr const char* kNoColumnSum =
      "there is no sum over columns (of dim); rowsum(x), over keys, belongs in rows";

  // Heads that have an error of their own leave no lengths to compare with.
  bool knows_heads() const {
    const Node* heads = root_.find("heads");
    return heads != nullptr && heads->find("q") != nullptr &&
           (heads->find("kv") != nullptr || heads->find("k") != nullptr);
  }

  // Whether the text of a name may be right; else reports what is wrong with it.
  bool reads_somewhere(const Node& lets, const Node& let) {
    expr::Scope names = scopes_.without({});
    for (const char* group : {"rows", "save"}) {
      const Node* normalize = root_.find("normalize");
      const Node* values = normalize != nullptr ? normalize->find(group) : nullptr;
      if (values == nullptr) continue;
      for (const Node& value : values->children) {
        names.forbidden[value.key] = {"it is computed later, in normalize", ""};
      }
    }
    for (const Node& later : std::span(&let, &lets.children.back() + 1)) {
      names.forbidden[later.key] = {"it comes later; names of let are read in order", ""};
    }
    names.forbidden[let.key].reason = "a name of let cannot read itself";
    const std::string pointer = child("/let", let.key);
    auto parsed = expr::parse(let.text, names);
    if (const auto* error = std::get_if<expr::Error>(&parsed)) {
      report_wrong(let, pointer, *error, names);
      return false;
    }
    return passes(let, pointer, std::get<expr::Expr>(parsed));
  }

  // Whether a place in a text is a name of let. What is wrong with its own text was said there.
  bool is_let(const Node& node, expr::Span span) const {
    const std::string_view text(node.text);
    const std::string_view named =
        text.substr(std::min<size_t>(span.begin, text.size()), span.end - span.begin);
    return std::ranges::any_of(spec_.lets, [&](const auto& let) { return let.first == named; });
  }

  bool has_usual_scale() const {
    const Node* scale = root_.find("scale");
    return scale == nullptr || !number_of(*scale);
  }

  // Who divides by the root of the head's width has no need to.
  expr::Scope names_of_score(const Node* score) const {
    if (score == nullptr || score->text.find("sqrt(") == std::string::npos || !has_usual_scale()) {
      return scopes_.without({kNoAcc, kNoColumn});
    }
    expr::Scope names = scopes_.without({kNoAcc, {"d", kNoColumn.reason, kScaled}});
    for (const char* width : {"head_dim", "d_k", "dk", "d_head", "head_size"}) {
      names.hints[width] = kScaled;
    }
    return names;
  }

  // How to leave pairs out by their score, which a mask does not know.
  const char* limit_of_scores() const {
    const Node* normalize = root_.find("normalize");
    if (normalize != nullptr && normalize->text == "none") {
      return "write it in score: score if score > 0 else 0";
    }
    const bool weighs = normalize != nullptr && normalize->kind == Node::Kind::Map &&
                        !is_rest_of_softmax(*normalize);
    return weighs ? "write it in weight and rows, such as exp(score - m) if score > 0 else 0"
                  : "write it in score: score if score > 0 else -inf";
  }

  void warn_of_unread_map() {
    if (spec_.maps == 1 || read_.contains("map")) return;
    report_.warn(*root_.find("maps"), "/maps",
                 "nothing reads 'map': both maps are treated alike, and O is their sum",
                 "to take the second off, write output: acc / l * (1 if map == 0 else -1)");
  }

  void warn_in_text(const Node& node, std::string_view pointer, std::optional<expr::Error> doubt) {
    if (!doubt) return;
    if (is_let(node, doubt->span)) doubt->help.clear();  // it would quote the name
    report_.in_text(node, pointer, *doubt, text::Severity::Warning);
  }

  void warn_of_unread(const Node* names, std::string_view pointer, std::string_view what) {
    if (names == nullptr) return;
    for (const Node& entry : names->children) {
      if (read_.contains(entry.key)) continue;
      report_.warn(entry, child(pointer, entry.key),
                   fmt::format("{} '{}' is never read", what, entry.key));
    }
  }

  void warn_of_left_out(const Node* rows) {
    if (rows == nullptr) return;
    for (const Node& row : rows->children) {
      if (!left_out_.contains(row.key)) continue;
      report_.warn(row, child("/normalize/rows", row.key),
                   fmt::format("row value '{}' is {}", row.key,
                               read_.contains(row.key)
                                   ? "read by rows alone that are left out, and left out too"
                                   : "never read, and left out"));
    }
  }

  // Rows that come to nothing cost each pair their sums, and may keep a kernel from a better form.
  // No error must hide who reads one.
  void leave_out_unread_rows() {
    Normalizer& all = spec_.normalize;
    std::set<std::string> read;
    bool complete = true;
    const auto read_by = [&](const expr::Expr& e) {
      complete = complete && e;
      if (!e) return;
      const auto names = expr::variables_of(e);
      read.insert(names.begin(), names.end());
    };
    read_by(all.weight);
    read_by(all.output);
    for (const NamedExpr& save : all.saves) read_by(save.value);
    for (auto row = all.rows.rbegin(); row != all.rows.rend(); ++row) {
      if (read.contains(row->name)) {
        read_by(row->value);
      } else {
        left_out_.insert(row->name);
      }
    }
    if (!complete) return left_out_.clear();
    std::erase_if(all.rows, [&](const NamedExpr& row) { return left_out_.contains(row.name); });
  }

  // An unknown name that is near to no other may be one to declare. `behind` is the text after it.
  // What a mask reads is mostly ids and lengths.
  expr::Error with_declaration(expr::Error error, const std::string& name, std::string_view behind,
                               const char* dtype) const {
    const bool can_declare = !why_no_identifier(name) && !why_reserved(name, spec_.pattern);
    const bool is_name = error.of == expr::Error::Of::UnknownName;
    if (!is_name || !error.help.empty() || !can_declare) return error;
    const std::string shape = shape_of(behind);
    const bool can_be_input = !why_macro(name) && !why_keyword(name);
    if (shape.empty()) {
      error.help = can_be_input ? "declare it in constants or inputs" : "declare it in constants";
    } else if (can_be_input) {
      error.help =
          fmt::format("declare it: inputs: {{{}: {{dtype: {}, shape: {}}}}}", name, dtype, shape);
    }
    return error;
  }

  // An error of the text at `node`, and if it is of an unknown name, those behind it.
  void report_wrong(const Node& node, const std::string& pointer, expr::Error error,
                    expr::Scope names) {
    constexpr size_t kMostNames = 100;
    const std::string_view text = node.text;
    const char* const dtype = pointer == "/mask" ? "i32" : "f32";
    while (names.unknown.size() < kMostNames) {
      const auto [begin, end] = error.span;
      const std::string named(text.substr(std::min<size_t>(begin, text.size()), end - begin));
      const bool unknown = error.of != expr::Error::Of::Other;
      const bool broken = scopes_.is_broken(named);
      const bool guessed = !names.unknown.empty();  // then another error may be of the guess
      if (!broken && (unknown || !guessed)) {
        report_.in_text(node, pointer, with_declaration(error, named, text.substr(end), dtype));
      }
      if (!broken && !unknown) return;
      const bool called = error.of == expr::Error::Of::UnknownFunction;
      // What stands there already: no name's error, where all are broken.
      if (!names.unknown.insert(called ? named + "(" : named).second) return;
      auto parsed = expr::parse(text, names);
      auto* const next = std::get_if<expr::Error>(&parsed);
      if (next == nullptr) return;
      error = std::move(*next);
    }
  }

  // The expression at `node`, or `fallback` if there is none; empty after an error.
  expr::Expr parse(const Node* node, const std::string& pointer, std::string_view fallback,
                   const expr::Scope& names, expr::Type type) {
    const std::string_view text = node != nullptr ? std::string_view(node->text) : fallback;
    auto parsed = expr::parse(text, names);
    if (const auto* error = std::get_if<expr::Error>(&parsed)) {
      if (node != nullptr) report_wrong(*node, pointer, *error, names);
      return {};
    }
    add_names(text, spec_, read_);
    const auto& e = std::get<expr::Expr>(parsed);
    if (node != nullptr && !passes(*node, pointer, e)) return {};
    return of_type(e, node, pointer, type);
  }

  // Reports what is wrong with the expression at `node`, or doubtful; whether it is right.
  bool passes(const Node& node, const std::string& pointer, const expr::Expr& e) {
    const auto warn_once = [&](const std::optional<expr::Error>& doubt) {
      if (doubt && !is_let(node, doubt->span)) warn_in_text(node, pointer, doubt);
    };
    std::optional<expr::Error> error = wrong_number(e);
    if (!error) warn_once(exchanged_clamp(e, node.text));
    if (!error && knows_heads()) {
      error = wrong_index(e, spec_);
      if (!error) {
        warn_once(clamped_index(e, spec_));
        warn_once(number_beyond_32_bits(e, spec_, node.text));
      }
    }
    if (error) report_.in_text(node, pointer, *error);
    return !error;
  }

  expr::Expr of_type(expr::Expr e, const Node* node, const std::string& pointer, expr::Type type) {
    if (e.type() == type) return e;
    if (e.type() == expr::Type::Int && type == expr::Type::Float) {
      const expr::Span span = e.span();
      return expr::make(expr::Op::ToFloat, {std::move(e)}, span);
    }
    if (node == nullptr) return {};
    const bool wants_bool = type == expr::Type::Bool;
    report_.in_text(
        *node, pointer,
        {e.span(),
         fmt::format("{} must be a {}, got a {}", dotted(pointer),
                     wants_bool ? "condition" : "number", wants_bool ? "number" : "condition"),
         wants_bool ? expr::hint_on_condition(e) : "use where(condition, a, b)"});
    return {};
  }

  void read_normalizer() {
    const Node* normalize = root_.find("normalize");
    if (normalize != nullptr && normalize->kind == Node::Kind::Map) {
      return read_long_form(*normalize);
    }
    const bool softmax = normalize == nullptr || normalize->text == "softmax";
    spec_.normalize_text = softmax ? "softmax" : "none";
    if (softmax) {
      add_softmax();
      add_save(nullptr, "lse", kLse);
    } else {
      read_weight(nullptr, "score");
    }
    read_output(nullptr, softmax ? kSoftmaxOutput : "acc");
  }

  void add_softmax() {
    for (const auto& [name, text] : kSoftmaxRows) add_row(nullptr, name, text);
    read_weight(nullptr, kSoftmaxWeight);
  }

  void read_long_form(const Node& normalize) {
    std::string rest;
    const auto line = [](std::string_view name, std::string_view text) {
      return fmt::format("{} = {}\n", name, text::one_line(text));
    };
    const auto show = [&](std::string_view name, std::string_view text) {
      rest += line(name, text);
    };
    const Node* rows = normalize.find("rows");
    const Node* weight = normalize.find("weight");
    const bool softmax = is_rest_of_softmax(normalize);
    if (softmax) {
      add_softmax();
      show("weight", kSoftmaxWeight);
    } else if (weight == nullptr) {
      report_.at_key(normalize, "/normalize", "normalize needs 'weight'", usual_weight(rows));
    }
    if (rows != nullptr) {
      for (const Node& row : rows->children) later_rows_.insert(row.key);
      for (const Node& row : rows->children) {
        if (!row.valid) continue;
        add_row(&row, row.key, row.text);
      }
    }
    later_rows_.clear();
    if (weight != nullptr) {
      read_weight(weight, weight->text);
      show("weight", weight->text);
    }
    const Node* output = normalize.find("output");
    const std::string otherwise = softmax ? kSoftmaxOutput : "acc";
    read_output(output, output != nullptr ? output->text : otherwise);
    show("output", output != nullptr ? output->text : otherwise);
    if (softmax && normalize.find("save") == nullptr) {
      add_save(nullptr, "lse", kLse);
      show("save lse", kLse);
    }
    if (const Node* saves = normalize.find("save")) {
      for (const Node& save : saves->children) {
        if (!save.valid) continue;
        add_save(&save, save.key, save.text);
        show("save " + save.key, save.text);
      }
    }
    leave_out_unread_rows();
    std::string& shown = spec_.normalize_text;
    const auto show_row = [&](const std::string& name, std::string_view text) {
      if (!left_out_.contains(name)) shown += line(name, text);
    };
    if (softmax) {
      for (const auto& [name, text] : kSoftmaxRows) show_row(name, text);
    }
    if (rows != nullptr) {
      for (const Node& row : rows->children) {
        if (row.valid) show_row(row.key, row.text);
      }
    }
    shown += rest;
    shown.pop_back();  // the last line's end
  }

  // What most add for want of a weight: softmax's, if a row is the maximum.
  static std::string usual_weight(const Node* rows) {
    if (rows == nullptr) return "";
    const auto max = std::ranges::find_if(rows->children, [](const Node& row) {
      return row.valid && row.text.find("rowmax(score)") != std::string::npos;
    });
    return max == rows->children.end() ? "add weight: score"
                                       : fmt::format("add weight: exp(score - {})", max->key);
  }

  void add_row(const Node* node, const std::string& name, std::string_view text) {
    later_rows_.erase(name);
    const std::string pointer = "/normalize/rows/" + name;
    expr::Scope names = with_rows(scopes_.without({kNoAcc, kNoColumn}));
    names.reductions = true;
    names.forbidden[name] = {"a row value cannot read itself", ""};
    for (const std::string& later : later_rows_) {
      names.forbidden[later] = {"it is computed later; rows are read in order", ""};
    }
    expr::Expr value = parse(node, pointer, text, names, expr::Type::Float);
    std::set<const void*> seen;
    const expr::Expr* pair_value = value ? find_pair_value(value, seen) : nullptr;
    if (pair_value != nullptr && node != nullptr) {
      report_.in_text(
          *node, pointer,
          {pair_value->span(),
           fmt::format("a row value reads '{}' only inside rowmax or rowsum", pair_value->name()),
           ""});
    }
    spec_.normalize.rows.push_back({name, std::move(value)});
  }

  void read_weight(const Node* node, std::string_view text) {
    spec_.normalize.weight =
        parse(node, "/normalize/weight", text, with_rows(scopes_.without({kNoAcc, kNoColumn})),
              expr::Type::Float);
    if (node == nullptr || !spec_.normalize.weight || !spec_.score) return;
    constexpr double kLargestFp16 = 65504, kLargestBf16 = std::numeric_limits<float>::max();
    warn_in_text(*node, "/normalize/weight",
                 weight_without_maximum(spec_.normalize.weight, spec_.score,
                                        spec_.dtype == DType::Fp16 ? kLargestFp16 : kLargestBf16));
    warn_in_text(*node, "/normalize/weight", power_of_distance(spec_.normalize.weight, node->text));
  }

  void read_output(const Node* node, std::string_view text) {
    expr::Scope names = with_rows(scopes_.without({{"score", kOfPairs}, {"kv_idx", kOfPairs}}));
    for (const char* sum : {"sum(", "mean("}) names.hints[sum] = kNoColumnSum;
    const expr::Expr output = parse(node, "/normalize/output", text, names, expr::Type::Float);
    if (node != nullptr && output && !expr::mentions(output, "acc")) {
      report_.in_text(*node, "/normalize/output",
                      {output.span(), "output does not read 'acc', the aggregated value", ""});
    }
    spec_.normalize.output = output;
  }

  void add_save(const Node* node, const std::string& name, std::string_view text) {
    expr::Scope names =
        with_rows(scopes_.without({kNoAcc, kNoColumn, {"score", kOfPairs}, {"kv_idx", kOfPairs}}));
    spec_.normalize.saves.push_back(
        {name, parse(node, "/normalize/save/" + name, text, names, expr::Type::Float)});
  }

  expr::Scope with_rows(expr::Scope names) const {
    for (const NamedExpr& row : spec_.normalize.rows) names.variables[row.name] = expr::Type::Float;
    return names;
  }

  const Node& root_;
  Spec& spec_;
  Report& report_;
  Scopes scopes_;
  std::set<std::string> read_;  // names that some expression has
  std::set<std::string> later_rows_;
  std::set<std::string> left_out_;  // rows that nothing reads
};

}  // namespace

void read_expressions(const Node& root, Spec& spec, Report& report) {
  ExpressionReader reader(root, spec, report);
  reader.read_lets();
  if (spec.pattern == Pattern::Recurrent) {
    reader.read_recurrent();
  } else {
    reader.read_parallel();
  }
  reader.warn_of_unread();
}

}  // namespace attngen::spec
