#include "emit/absorb.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/comment.h"
#include "emit/device_text.h"
#include "emit/user_functions.h"

namespace attngen::emit {
namespace {

using attention::Reduction;
using attention::RowForm;
using attention::RowValue;
using Name = std::set<std::string, std::less<>>;

bool mentions_any(const expr::Expr& e, const Name& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return expr::mentions(e, name); });
}

// The block update, from the form: which rows are current after every block, which reductions they
// need first, which may wait for the last pass.
class Absorb {
 public:
  Absorb(const spec::Spec& spec, const RowForm& form, const DeviceNames& names,
         const Fragment& fragment)
      : spec_(spec), form_(form), names_(names), fragment_(fragment) {
    find_loop_rows();
    find_passes();
  }

  std::string text() const {
    std::string text = loop_rows_text();
    for (const Reduction& reduction : form_.reductions) {
      if (inline_value(reduction.element) || sums_weights(reduction)) continue;
      text += pair_function(element_name(reduction), reduction.element,
                            fmt::format("{}: {} over the pairs of a row", reduction.name,
                                        reduction.kind == Reduction::Kind::Max ? "max" : "sum"));
    }
    if (!inline_value(form_.weight)) text += pair_function("weight_of", form_.weight, "weight");
    if (!form_.row_free()) {
      text += factor_function("rescale_factor", form_.rescale,
                              "By which the accumulator shrinks when the row values change.");
    }
    for (const Reduction& reduction : form_.reductions) {
      if (has_own_factor(reduction)) {
        text += factor_function("rescale_" + reduction.name, reduction.rescale,
                                fmt::format("By which {} shrinks.", reduction.name));
      }
    }
    return text + absorb_function();
  }

 private:
  bool has_rows() const { return !loop_rows_.empty(); }
  bool is_loop_row(std::string_view name) const {
    return std::any_of(loop_rows_.begin(), loop_rows_.end(),
                       [&](const RowValue* row) { return row->name == name; });
  }

  // The rows read in the loop, and the rows that these read.
  void find_loop_rows() {
    for (auto row = form_.rows.rbegin(); row != form_.rows.rend(); ++row) {
      const bool read = std::any_of(
          loop_rows_.begin(), loop_rows_.end(),
          [&](const RowValue* later) { return expr::mentions(later->value, row->name); });
      if (row->in_loop || read) loop_rows_.insert(loop_rows_.begin(), &*row);
    }
  }

  // Reductions that loop rows need, by pass: those whose elements read only rows that earlier
  // passes made current.
  void find_passes() {
    std::vector<const Reduction*> waiting;
    for (const Reduction& reduction : form_.reductions) {
      (reduction.deferred ? last_pass_ : waiting).push_back(&reduction);
    }
    while (!waiting.empty()) {
      Name stale;  // rows that wait for a reduction, and what reads them
      for (const Reduction* reduction : waiting) stale.insert(reduction->name);
      for (const RowValue* row : loop_rows_) {
        if (mentions_any(row->value, stale)) stale.insert(row->name);
      }
      std::vector<const Reduction*> ready, later;
      for (const Reduction* reduction : waiting) {
        (mentions_any(reduction->element, stale) ? later : ready).push_back(reduction);
      }
      if (ready.empty()) break;  // a cycle; forms have none
      passes_.push_back(std::move(ready));
      waiting = std::move(later);
    }
  }

  // In the last pass, the sum of the weights themselves.
  bool sums_weights(const Reduction& reduction) const {
    return reduction.deferred && reduction.kind == Reduction::Kind::Sum &&
           expr::same(reduction.element, form_.weight);
  }
  // What needs no function of its own: the score itself, a number.
  static std::optional<std::string> inline_value(const expr::Expr& e) {
    if (e.op() != expr::Op::Variable && !e.is_number()) return std::nullopt;
    if (e.op() == expr::Op::Variable && e.name() != "score") return std::nullopt;
    return expr::print_c(e, expr::Dialect::Device);
  }
  std::string pair_value(const std::string& function, const expr::Expr& e) const {
    return inline_value(e).value_or(fmt::format("{}({})", function, pair_arguments()));
  }
  static std::string element_name(const Reduction& reduction) { return reduction.name + "_of"; }
  bool has_own_factor(const Reduction& reduction) const {
    return !reduction.rescale.is_number(1) && !expr::same(reduction.rescale, form_.rescale);
  }
  // The call that gives a reduction's factor; "" if it is 1.
  std::string factor(const Reduction& reduction) const {
    if (reduction.rescale.is_number(1)) return "";
    return fmt::format("rescale_{}(old, rows, row, in)",
                       has_own_factor(reduction) ? reduction.name : "factor");
  }

  std::string loop_rows_text() const {
    if (!has_rows()) return "";
    std::string members, body = "  LoopRows rows;\n";
    for (const RowValue* row : loop_rows_) {
      members += fmt::format("  float {};\n", DeviceNames::member(row->name));
      body += assignment("rows." + DeviceNames::member(row->name), row->value, names_.names());
    }
    return "// The row values that weights read, from the pairs seen so far.\nstruct LoopRows {\n" +
           members + "};\n\n" +
           text_of({"LoopRows",
                    "loop_rows",
                    {"const Reductions& red", "const Row& row", "const Inputs& in"},
                    body + "  return rows;\n"}) +
           "\n";
  }

  std::vector<std::string> pair_parameters() const {
    std::vector<std::string> parameters{"float score", "const Row& row", "int kv_idx",
                                        "const Inputs& in"};
    if (has_rows()) parameters.emplace_back("const LoopRows& rows");
    return parameters;
  }
  std::string pair_arguments() const {
    return std::string("score, row, kv_idx, in") + (has_rows() ? ", rows" : "");
  }
  std::string pair_function(const std::string& name, const expr::Expr& value,
                            std::string_view lead) const {
    return comment(lead, expr::print(value)) +
           text_of({"float", name, pair_parameters(), returned(value, names_.names())}) + "\n";
  }

  // Rows from a maximum are infinite until a pair has come: then there is nothing to rescale.
  std::string factor_function(const std::string& name, const expr::Expr& value,
                              const std::string& why) const {
    std::string body;
    for (const RowValue* row : loop_rows_) {
      const std::string old = attention::old_name(row->name);
      if (!from_max(*row) || !expr::mentions(value, old)) continue;
      body += fmt::format("  if (isinf(old.{})) return 1;\n", DeviceNames::member(row->name));
    }
    return "// " + why + "\n" +
           text_of({"float",
                    name,
                    {"const LoopRows& old", "const LoopRows& rows", "const Row& row",
                     "const Inputs& in"},
                    body + returned(value, names_.names())}) +
           "\n";
  }
  bool from_max(const RowValue& row) const {
    return std::any_of(form_.reductions.begin(), form_.reductions.end(),
                       [&](const Reduction& reduction) {
                         return reduction.kind == Reduction::Kind::Max &&
                                expr::mentions(row.value, reduction.name);
                       });
  }

  // The loop over the block's pairs; `guard` is a further condition of a pair that counts.
  std::string loop(const std::string& guard, const std::string& body) const {
    // Of an interval mask, two limits a row stand in for the test of every pair.
    const char* inside = is_interval(spec_) ? "key >= keys.begin && key < keys.end"
                                            : "key < row.seq_kv && pair_exists(row, kv_idx, in)";
    const std::string exists = fmt::format("!kMasked || ({})", inside);
    const std::string test = wrapped(
        "      const bool exists = " + (guard.empty() ? exists : guard + "(" + exists + ")") + ";");
    // Hopper's text has always had it; clang warns of a variable that nothing reads.
    const bool indexed = fragment_.vendor == expr::Vendor::Nvidia || has_word(test, "kv_idx") ||
                         has_word(body, "kv_idx");
    return fmt::format(
        "#pragma unroll\n"
        "  for (int j = 0; j < {}; ++j) {{\n"
        "#pragma unroll\n"
        "    for (int e = 0; e < {}; ++e) {{\n"
        "      const int key = {};\n"
        "{}"
        "{}"
        "{}"
        "    }}\n"
        "  }}\n",
        fragment_.groups, fragment_.elements, fragment_.key,
        indexed ? "      const int kv_idx = kMasked ? min(key, row.seq_kv - 1) : key;\n" : "", test,
        body);
  }

  // The first pass makes scores of products; later ones read them.
  std::string score_line(bool first, bool kept) const {
    const std::string_view element = fragment_.element;
    if (!first) return fmt::format("      const float score = {};\n", element);
    std::string line = fmt::format(
        fmt::runtime(is_plain_score(spec_)
                         ? "      const float score = {} * kScale;\n"
                         : "      const float score = score_of({} * kScale, row, kv_idx, in);\n"),
        element);
    if (kept) line += fmt::format("      {} = score;\n", element);
    return line;
  }

  // Computed for every pair and then selected: a branch a pair serialises the matrix products.
  std::string reduce(const Reduction& reduction, const std::string& target) const {
    const std::string term = reduction.name + "_term";
    const std::string element = pair_value(element_name(reduction), reduction.element);
    return wrapped(fmt::format("      const float {} = {};", term, element)) +
           wrapped(
               reduction.kind == Reduction::Kind::Max
                   ? fmt::format("      {0} = fmaxf({0}, exists ? {1} : -INFINITY);", target, term)
                   : fmt::format("      {} += exists ? {} : 0;", target, term));
  }

  // One pass that ends with new row values.
  std::string row_pass(const std::vector<const Reduction*>& pass, bool first) const {
    std::string before, body = score_line(first, true), after;
    for (const Reduction* reduction : pass) {
      const bool max = reduction->kind == Reduction::Kind::Max;
      const std::string& name = reduction->name;
      before += fmt::format("  float {} = {};\n", name, max ? "-INFINITY" : "0");
      body += reduce(*reduction, name);
      const std::string scale = factor(*reduction);
      const std::string old = "red." + name + (scale.empty() ? "" : " * " + scale);
      after +=
          wrapped(max ? fmt::format("  red.{0} = fmaxf({1}, {2}({0}));", name, old, fragment_.max)
                      : fmt::format("  red.{0} = {1} + {2}({0});", name, old, fragment_.sum));
    }
    return before + loop("", body) + after + "  rows = loop_rows(red, row, in);\n";
  }

  // Until a pair with a finite score has come, weights would be inf - inf.
  std::string started() const {
    std::string condition;
    for (const RowValue* row : loop_rows_) {
      if (!from_max(*row)) continue;
      condition += fmt::format("{}!isinf(rows.{})", condition.empty() ? "" : " && ",
                               DeviceNames::member(row->name));
    }
    return condition;
  }

  std::string weight_pass() const {
    std::string before, guard;
    if (const std::string condition = started(); !condition.empty()) {
      before += wrapped("  const bool started = " + condition + ";");
      guard = "started && ";
    }
    for (const Reduction* reduction : last_pass_) {
      const std::string scale = factor(*reduction);
      if (scale.empty()) continue;
      before += fmt::format("  red.{} *= {};\n", reduction->name,
                            has_own_factor(*reduction) ? scale : "factor");
    }
    std::string body = score_line(passes_.empty(), false);
    // Computed for every pair and then selected: a branch a pair serialises the matrix products.
    body += wrapped(fmt::format("      float weight = {};", pair_value("weight_of", form_.weight)));
    body += "      if (!exists) weight = 0;\n";
    body += fmt::format("      {} = weight;\n", fragment_.element);
    for (const Reduction* reduction : last_pass_) {
      const std::string target = "red." + reduction->name;
      body += sums_weights(*reduction) ? fmt::format("      {} += weight;\n", target)
                                       : reduce(*reduction, target);
    }
    return before + loop(guard, body);
  }

  std::string absorb_function() const {
    std::string body;
    for (size_t i = 0; i < passes_.size(); ++i) body += row_pass(passes_[i], i == 0);
    if (!form_.row_free()) {
      body += "  const float factor = rescale_factor(old, rows, row, in);\n";
    }
    body += weight_pass();
    if (!form_.row_free()) body += "  return factor;\n";
    if (has_word(body, "keys")) {
      body.insert(0, "  const KeyRange keys = key_range(row.q_idx, row.q_idx, row, in);\n");
    }
    if (has_word(body, "old")) body.insert(0, "  const LoopRows old = rows;\n");
    if (has_rows()) body.insert(0, "  LoopRows rows = loop_rows(red, row, in);\n");
    std::vector<std::string> parameters{std::string(fragment_.scores)};
    if (!fragment_.row.empty()) parameters.emplace_back(fragment_.row);
    parameters.insert(parameters.end(),
                      {"int kv_first", "const Row& row", "const Inputs& in", "Reductions& red"});
    return fmt::format("// One block of {}: scores in, weights out.",
                       fragment_.row.empty() ? "a row" : "row r") +
           (form_.row_free() ? "" : " Returns the factor by which the accumulator shrinks.") +
           "\n" +
           text_of({form_.row_free() ? "void" : "float", "absorb", std::move(parameters), body,
                    "template <bool kMasked>"});
  }

  const spec::Spec& spec_;
  const RowForm& form_;
  const DeviceNames& names_;
  const Fragment& fragment_;
  std::vector<const RowValue*> loop_rows_;             // in the order of the spec
  std::vector<std::vector<const Reduction*>> passes_;  // before the weights
  std::vector<const Reduction*> last_pass_;            // together with the weights
};

}  // namespace

std::string absorb_functions(const spec::Spec& spec, const RowForm& rows, const DeviceNames& names,
                             const Fragment& fragment) {
  return Absorb(spec, rows, names, fragment).text();
}

}  // namespace attngen::emit
