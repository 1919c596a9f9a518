#include "spec/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>

#include "spec/doubts.h"
#include "spec/empty_mask.h"
#include "spec/hints.h"
#include "spec/indices.h"
#include "spec/macros.h"
#include "spec/names.h"
#include "spec/numbers.h"
#include "text/characters.h"

namespace attngen::spec {
namespace {

struct Name {
  const char* name;
  expr::Type type;
};

// What a value of a pair, a row, an element of O may read besides inputs and constants.
constexpr Name kParallelNames[] = {
    {"score", expr::Type::Float}, {"kv_idx", expr::Type::Int}, {"acc", expr::Type::Float},
    {"b", expr::Type::Int},       {"h", expr::Type::Int},      {"h_kv", expr::Type::Int},
    {"q_idx", expr::Type::Int},   {"q_pos", expr::Type::Int},  {"seq_q", expr::Type::Int},
    {"seq_kv", expr::Type::Int},  {"map", expr::Type::Int},
};
constexpr Name kRecurrentNames[] = {
    {"q", expr::Type::Float},   {"k", expr::Type::Float}, {"v", expr::Type::Float},
    {"acc", expr::Type::Float}, {"b", expr::Type::Int},   {"t", expr::Type::Int},
    {"h", expr::Type::Int},     {"d", expr::Type::Int},
};

struct Reason {
  const char* name;
  const char* reason;
};

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

// A choice in a score that takes pairs away.
struct Masking {
  const expr::Expr* choice;
  bool negated;  // those where its condition holds
  double score;  // that they get
};

// Of a number and its sign; of all else a NaN.
double value_of(const expr::Expr& e) {
  if (e.op() == expr::Op::ToFloat) return value_of(e.operand(0));
  if (e.op() == expr::Op::Negate) return -value_of(e.operand(0));
  return e.is_number() ? e.number() : std::numeric_limits<double>::quiet_NaN();
}

// Of a choice that is multiplied by a number: one whose condition a mask may read.
std::optional<Masking> masking_of(const expr::Expr& choice, double factor) {
  constexpr double kNoWeight = -1e4;  // what is written for -inf begins here
  const expr::Expr& condition = choice.operand(0);
  if (expr::mentions(condition, "score") || expr::mentions(condition, "map")) return std::nullopt;
  const double yes = factor * value_of(choice.operand(1));
  const double no = factor * value_of(choice.operand(2));
  const bool masks_yes = yes <= kNoWeight, masks_no = no <= kNoWeight;
  if (masks_yes == masks_no) return std::nullopt;
  return Masking{&choice, masks_yes, masks_yes ? yes : no};
}

// The first one in a score, or in a term of it.
std::optional<Masking> find_masking(const expr::Expr& e, double factor = 1) {
  using expr::Op;
  const auto in_operand = [&](size_t i, double by) {
    return find_masking(e.operand(i), factor * by);
  };
  switch (e.op()) {
    case Op::Select:
      return masking_of(e, factor);
    case Op::ToFloat:
      return in_operand(0, 1);
    case Op::Negate:
      return in_operand(0, -1);
    case Op::Multiply: {
      auto found = in_operand(0, value_of(e.operand(1)));
      return found ? found : in_operand(1, value_of(e.operand(0)));
    }
    case Op::Add:
    case Op::Subtract: {
      auto found = in_operand(0, 1);
      return found ? found : in_operand(1, e.op() == Op::Add ? 1 : -1);
    }
    default:
      return std::nullopt;
  }
}

class ExpressionReader {
 public:
  ExpressionReader(const Node& root, Spec& spec, Report& report)
      : root_(root), spec_(spec), report_(report) {
    add_constants();
    add_inputs();
  }

  void read_parallel() {
    const Node* score = root_.find("score");
    const Node* mask = root_.find("mask");
    spec_.score_text = score != nullptr ? text::one_line(score->text) : "score";
    spec_.mask_text = mask != nullptr ? text::one_line(mask->text) : "true";
    spec_.score = parse(score, "/score", "score", scope({{"acc", kOnlyOutput}}), expr::Type::Float);
    spec_.mask = parse(mask, "/mask", "true",
                       scope({{"acc", kOnlyOutput},
                              {"score", "a mask cannot read it"},
                              {"map", "both maps have the pairs of one mask"}}),
                       expr::Type::Bool);
    if (score != nullptr && spec_.score) {
      warn_of_masking(*score);
      warn_in_text(*score, "/score", score_of_nothing(spec_.score, score->text));
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
      return parse(root_.find(name), child("", name), fallback, scope(forbidden),
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
    warn_of_unread(root_.find("inputs"), "/inputs", "input");
    warn_of_unread(root_.find("constants"), "/constants", "constant");
    if (normalize != nullptr) {
      warn_of_unread(normalize->find("rows"), "/normalize/rows", "row value");
    }
  }

 private:
  static constexpr const char* kOnlyOutput = "only 'output' of normalize reads it";
  static constexpr const char* kOfPairs =
      "it has a value for each pair; 'weight' reads it, and rowmax and rowsum in 'rows'";

  void add_constants() {
    base_.constants["scale"] = expr::number(spec_.scale);
    base_.constants["inf"] = expr::number(std::numeric_limits<double>::infinity());
    const Node* constants = root_.find("constants");
    for (const auto& [name, value] : spec_.constants) {
      const bool is_int = constants->find(name)->text.find_first_of(".eE") == std::string::npos &&
                          value >= std::numeric_limits<int32_t>::min() &&
                          value <= std::numeric_limits<int32_t>::max();
      base_.constants[name] =
          is_int ? expr::integer(static_cast<int64_t>(value)) : expr::number(value);
    }
  }

  void add_inputs() {
    for (const Input& input : spec_.inputs) {
      expr::Scope::Input entry;
      const bool is_int =
          input.element == Input::Element::I32 || input.element == Input::Element::U8;
      entry.element = is_int ? expr::Type::Int : expr::Type::Float;
      for (const Input::Dim& dim : input.shape) entry.dims.push_back(name_of(dim));
      base_.inputs[input.name] = std::move(entry);
    }
    // Entries that have an error of their own: no second one where they are used.
    for (const Node& node : root_.children) {
      if (node.key == "maps" && !node.valid) broken_.insert("map");
    }
    for (const char* group : {"inputs", "constants"}) {
      for (const Node& node : root_.children) {
        if (node.key != group) continue;
        all_broken_ = all_broken_ || !node.valid;
        for (const Node& entry : node.children) {
          if (!base_.inputs.contains(entry.key) && !base_.constants.contains(entry.key)) {
            broken_.insert(entry.key);
          }
        }
      }
    }
    if (const Node* normalize = root_.find("normalize")) add_broken_rows(*normalize);
  }

  void add_broken_rows(const Node& normalize) {
    for (const Node& rows : normalize.children) {
      if (rows.key != "rows") continue;
      all_broken_ = all_broken_ || (!rows.valid && rows.kind != Node::Kind::Map);
      for (const Node& row : rows.children) {
        if (!rows.valid || !row.valid) broken_.insert(row.key);
      }
    }
  }

  // All names of the pattern but the forbidden ones.
  expr::Scope scope(std::initializer_list<Reason> forbidden) const {
    const bool recurrent = spec_.pattern == Pattern::Recurrent;
    expr::Scope out = base_;
    for (const Name& name : kParallelNames) {
      if (recurrent) out.forbidden[name.name] = "it belongs to pattern parallel";
    }
    for (const Name& name : kRecurrentNames) {
      if (!recurrent) out.forbidden[name.name] = "it belongs to pattern recurrent";
    }
    const auto allow = [&](const Name& name) {
      out.variables[name.name] = name.type;
      out.forbidden.erase(name.name);
    };
    if (recurrent) {
      for (const Name& name : kRecurrentNames) allow(name);
    } else {
      for (const Name& name : kParallelNames) allow(name);
      out.hints = hints_on_names();
    }
    for (const Reason& reason : forbidden) {
      out.variables.erase(reason.name);
      out.forbidden[reason.name] = reason.reason;
    }
    if (!recurrent && spec_.maps == 1) {
      out.variables.erase("map");
      out.forbidden["map"] = "the spec has one map; 'maps: 2' gives it two";
    }
    return out;
  }

  // Heads that have an error of their own leave no lengths to compare with.
  bool knows_heads() const {
    const Node* heads = root_.find("heads");
    return heads != nullptr && heads->find("q") != nullptr &&
           (heads->find("kv") != nullptr || heads->find("k") != nullptr);
  }

  void warn_of_masking(const Node& score) {
    const auto masking = find_masking(spec_.score);
    if (!masking) return;
    const auto [choice, negated, value] = *masking;
    const expr::Span span = choice->operand(0).span();
    const std::string condition =
        text::shortened(text::one_line(score.text.substr(span.begin, span.end - span.begin)), 200);
    report_.in_text(score, "/score",
                    {choice->span(),
                     fmt::format("pairs with a score of {:g} are computed like all others", value),
                     fmt::format("write it in mask, which lets blocks of keys be skipped: {}{}{}",
                                 negated ? "not (" : "", condition, negated ? ")" : "")},
                    text::Severity::Warning);
  }

  void warn_of_unread_map() {
    if (spec_.maps == 1 || read_.contains("map")) return;
    report_.warn(*root_.find("maps"), "/maps",
                 "nothing reads 'map': both maps are treated alike, and O is their sum",
                 "to take the second off, write output: acc / l * (1 if map == 0 else -1)");
  }

  void warn_in_text(const Node& node, std::string_view pointer,
                    const std::optional<expr::Error>& doubt) {
    if (doubt) report_.in_text(node, pointer, *doubt, text::Severity::Warning);
  }

  void warn_of_unread(const Node* names, std::string_view pointer, std::string_view what) {
    if (names == nullptr) return;
    for (const Node& entry : names->children) {
      if (read_.contains(entry.key)) continue;
      report_.warn(entry, child(pointer, entry.key),
                   fmt::format("{} '{}' is never read", what, entry.key));
    }
  }

  // An unknown name that is near to no other may be one to declare. `behind` is the text after it.
  expr::Error with_declaration(expr::Error error, const std::string& name,
                               std::string_view behind) const {
    const bool can_declare = !why_no_identifier(name) && !why_reserved(name, spec_.pattern);
    if (!error.undeclared || !error.help.empty() || !can_declare) return error;
    const std::string shape = shape_of(behind);
    const bool can_be_input = !why_macro(name);
    if (shape.empty()) {
      error.help = can_be_input ? "declare it in constants or inputs" : "declare it in constants";
    } else if (can_be_input) {
      error.help =
          fmt::format("declare it: inputs: {{{}: {{dtype: f32, shape: {}}}}}", name, shape);
    }
    return error;
  }

  // The expression at `node`, or `fallback` if there is none; empty after an error.
  expr::Expr parse(const Node* node, const std::string& pointer, std::string_view fallback,
                   const expr::Scope& names, expr::Type type) {
    const std::string_view text = node != nullptr ? std::string_view(node->text) : fallback;
    auto parsed = expr::parse(text, names);
    if (const auto* error = std::get_if<expr::Error>(&parsed)) {
      const auto [begin, end] = error->span;
      const std::string named(text.substr(std::min<size_t>(begin, text.size()), end - begin));
      if (!all_broken_ && !broken_.contains(named) && node != nullptr) {
        report_.in_text(*node, pointer, with_declaration(*error, named, text.substr(end)));
      }
      return {};
    }
    read_.merge(expr::names_in(text));
    const auto& e = std::get<expr::Expr>(parsed);
    if (node != nullptr) {
      if (const auto error = wrong_number(e)) {
        report_.in_text(*node, pointer, *error);
        return {};
      }
      warn_in_text(*node, pointer, exchanged_clamp(e, text));
    }
    if (node != nullptr && knows_heads()) {
      if (const auto error = wrong_index(e, spec_)) {
        report_.in_text(*node, pointer, *error);
        return {};
      }
      warn_in_text(*node, pointer, clamped_index(e, spec_));
    }
    return of_type(e, node, pointer, type);
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
         wants_bool ? "compare it with something" : "use where(condition, a, b)"});
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
      add_row(nullptr, "m", "rowmax(score)");
      add_row(nullptr, "l", "rowsum(exp(score - m))");
      add_save(nullptr, "lse", "m + log(l)");
    }
    read_weight(nullptr, softmax ? "exp(score - m)" : "score");
    read_output(nullptr, softmax ? "acc / l" : "acc");
  }

  void read_long_form(const Node& normalize) {
    std::string& shown = spec_.normalize_text;
    const auto show = [&](std::string_view name, std::string_view text) {
      shown += fmt::format("{}{} = {}", shown.empty() ? "" : "\n", name, text::one_line(text));
    };
    if (const Node* rows = normalize.find("rows")) {
      for (const Node& row : rows->children) later_rows_.insert(row.key);
      for (const Node& row : rows->children) {
        if (!row.valid) continue;
        add_row(&row, row.key, row.text);
        show(row.key, row.text);
      }
    }
    later_rows_.clear();
    if (const Node* weight = normalize.find("weight")) {
      read_weight(weight, weight->text);
      show("weight", weight->text);
    }
    const Node* output = normalize.find("output");
    read_output(output, output != nullptr ? output->text : "acc");
    show("output", output != nullptr ? output->text : "acc");
    if (const Node* saves = normalize.find("save")) {
      for (const Node& save : saves->children) {
        if (!save.valid) continue;
        add_save(&save, save.key, save.text);
        show("save " + save.key, save.text);
      }
    }
  }

  void add_row(const Node* node, const std::string& name, std::string_view text) {
    later_rows_.erase(name);
    const std::string pointer = "/normalize/rows/" + name;
    expr::Scope names = with_rows(scope({{"acc", kOnlyOutput}}));
    names.reductions = true;
    names.forbidden[name] = "a row value cannot read itself";
    for (const std::string& later : later_rows_) {
      names.forbidden[later] = "it is computed later; rows are read in order";
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
    spec_.normalize.weight = parse(node, "/normalize/weight", text,
                                   with_rows(scope({{"acc", kOnlyOutput}})), expr::Type::Float);
  }

  void read_output(const Node* node, std::string_view text) {
    const expr::Expr output =
        parse(node, "/normalize/output", text,
              with_rows(scope({{"score", kOfPairs}, {"kv_idx", kOfPairs}})), expr::Type::Float);
    if (output && !expr::mentions(output, "acc")) {
      report_.in_text(*node, "/normalize/output",
                      {output.span(), "output does not read 'acc', the aggregated value", ""});
    }
    spec_.normalize.output = output;
  }

  void add_save(const Node* node, const std::string& name, std::string_view text) {
    expr::Scope names =
        with_rows(scope({{"acc", kOnlyOutput}, {"score", kOfPairs}, {"kv_idx", kOfPairs}}));
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
  expr::Scope base_;
  std::set<std::string> broken_;
  std::set<std::string> read_;  // names that some expression has
  bool all_broken_ = false;
  std::set<std::string> later_rows_;
};

}  // namespace

void read_expressions(const Node& root, Spec& spec, Report& report) {
  ExpressionReader reader(root, spec, report);
  if (spec.pattern == Pattern::Recurrent) {
    reader.read_recurrent();
  } else {
    reader.read_parallel();
  }
  reader.warn_of_unread();
}

}  // namespace attngen::spec
