#include "emit/absorb.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/started.h"
#include "emit/comment.h"
#include "emit/device_text.h"
#include "emit/far_functions.h"
#include "emit/near_functions.h"
#include "emit/pair_text.h"
#include "emit/user_functions.h"
#include "expr/decimal.h"

namespace attngen::emit {
namespace {

using attention::PairForm;
using attention::Reduction;
using attention::RowForm;
using attention::RowValue;
using NameSet = std::set<std::string, std::less<>>;

bool mentions_any(const expr::Expr& e, const NameSet& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return expr::mentions(e, name); });
}

// The block update, from the form: which rows are current after every block, which reductions they
// need first, which may wait for the last pass.
class Absorb : public PairText {
 public:
  Absorb(const spec::Spec& spec, const RowForm& form, const PairForm& pairs,
         const DeviceNames& names, const Fragment& fragment)
      : PairText(spec, form, pairs, names, fragment) {
    find_passes();
    rows_of_maxima_ = attention::rows_of_maxima(form);
    weights_wait_ = attention::weights_wait(form);
  }

  std::string text() const {
    std::string text = loop_rows_text();
    for (const Reduction& reduction : form_.reductions) {
      if (inline_value(element_of(reduction).value) || sums_weights(reduction)) continue;
      text +=
          pair_function(element_name(reduction), element_of(reduction).value,
                        comment(fmt::format("{}: {} over the pairs of a row", reduction.name,
                                            reduction.kind == Reduction::Kind::Max ? "max" : "sum"),
                                expr::print_brief(reduction.element)));
    }
    if (inverts_pairs()) {
      text += denominator_text();
    } else if (!inline_value(pairs_.weight)) {
      text += pair_function("weight_of", pairs_.weight, weight_heading());
    }
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
    if (weights_wait_) text += waiting_text();
    return text + absorb_function();
  }

 private:
  // Reductions that loop rows need, by pass: those whose elements read only rows that earlier
  // passes made current.
  void find_passes() {
    std::vector<const Reduction*> waiting;
    for (const Reduction& reduction : form_.reductions) {
      (reduction.deferred ? last_pass_ : waiting).push_back(&reduction);
    }
    while (!waiting.empty()) {
      NameSet stale;  // rows that wait for a reduction, and what reads them
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

  // What of old rows may be infinite or no number though they are finite: of 0, mostly.
  static bool may_have_pole(const expr::Expr& e) {
    using expr::Op;
    return e.op() == Op::Divide || e.op() == Op::Log || e.op() == Op::Log2 || e.op() == Op::Sqrt ||
           e.op() == Op::Rsqrt || e.op() == Op::Pow;
  }
  static void find_poles(const expr::Expr& e, const NameSet& old, std::set<const void*>& seen,
                         std::vector<expr::Expr>& found) {
    if (!seen.insert(e.identity()).second || !mentions_any(e, old)) return;
    if (may_have_pole(e)) {
      found.push_back(e);
      return;
    }
    for (const expr::Expr& operand : e.operands()) find_poles(operand, old, seen, found);
  }

  // Until a pair has come a row, or a quotient of rows, may be infinite or no number: then there is
  // nothing to rescale.
  std::string factor_function(const std::string& name, const expr::Expr& value,
                              const std::string& why) const {
    std::string body;
    NameSet old_rows;
    for (const RowValue* row : loop_rows_) {
      const std::string old = attention::old_name(row->name);
      if (!expr::mentions(value, old)) continue;
      old_rows.insert(old);
      body += fmt::format("  if (!isfinite(old.{})) return 1;\n", DeviceNames::member(row->name));
    }
    std::set<const void*> seen;
    std::vector<expr::Expr> poles;
    find_poles(value, old_rows, seen, poles);
    if (!poles.empty()) body += "  float of_old;\n";
    for (const expr::Expr& pole : poles) {
      body += assignment("of_old", pole, names_.names()) + "  if (!isfinite(of_old)) return 1;\n";
    }
    return "// " + why + "\n" +
           text_of({"float",
                    name,
                    {"const LoopRows& old", "const LoopRows& rows", "const Row& row",
                     "const Inputs& in"},
                    body + returned(value, names_.names())}) +
           "\n";
  }
  std::string pair_function(const std::string& name, const expr::Expr& value,
                            const std::string& heading) const {
    return heading +
           text_of({"float", name, parameters(), returned(value, names_.score_names(pairs_))}) +
           "\n";
  }

  // Which pairs of a block count: those that exist, once `started` holds. Where some of a pass need
  // not wait for it (a count, the last key), the others have a name of their own.
  struct Guard {
    std::string started;  // "" if nobody waits
    bool all_wait = true;
    bool of_tested = false;  // in a block that is whole nobody waits

    Conditions conditions() const {
      if (!all_wait) return {};
      return of_tested ? Conditions{.of_tested = started} : Conditions{.of_all = started};
    }
    std::string line() const {
      if (started.empty() || all_wait) return "";
      return wrapped(fmt::format("      const bool weighed = {} && exists;",
                                 of_tested ? "(!kMasked || " + started + ")" : started));
    }
    std::string_view of(bool waits) const {
      return waits && !started.empty() && !all_wait ? "weighed" : "exists";
    }
  };
  bool waits(const expr::Expr& e) const { return mentions_any(e, rows_of_maxima_); }
  Guard guard_of(const std::vector<const Reduction*>& pass, std::string started) const {
    return {std::move(started), std::ranges::all_of(pass, [&](const Reduction* reduction) {
              return waits(reduction->element);
            })};
  }
  Guard guard_of_weights() const {
    Guard guard = guard_of(last_pass_, weights_wait_ ? "started" : "");
    guard.all_wait = guard.all_wait && waits(form_.weight);
    guard.of_tested = true;
    return guard;
  }

  // Computed for every pair and then selected: a branch a pair serialises the matrix products.
  std::string reduce(const Reduction& reduction, const std::string& target,
                     const Guard& guard) const {
    const std::string term = reduction.name + "_term";
    const std::string_view counts = guard.of(waits(reduction.element));
    return wrapped(fmt::format("      const float {} = {};", term, element_value(reduction))) +
           wrapped(reduction.kind == Reduction::Kind::Max
                       ? fmt::format("      {0} = fmaxf({0}, {2} ? {1} : -INFINITY);", target, term,
                                     counts)
                       : fmt::format("      {} += {} ? {} : 0;", target, counts, term));
  }

  // One pass that ends with new row values.
  std::string row_pass(const std::vector<const Reduction*>& pass, bool first) const {
    const Guard guard = guard_of(pass, has_started(elements_of(pass)));
    std::string before, body = guard.line() + score_line(first, true), after;
    for (const Reduction* reduction : pass) {
      const bool max = reduction->kind == Reduction::Kind::Max;
      const std::string& name = reduction->name;
      before += fmt::format("  float {} = {};\n", name, identity_of(*reduction));
      body += reduce(*reduction, name, guard);
      const std::string scale = factor(*reduction);
      const std::string old = "red." + name + (scale.empty() ? "" : " * " + scale);
      after += wrapped(max ? fmt::format("  red.{0} = fmaxf({1}, {2}({0}){3});", name, old,
                                         fragment_.max, left_factor(*reduction))
                           : fmt::format("  red.{0} = {1} + {2}({0}){3};", name, old, fragment_.sum,
                                         left_factor(*reduction)));
    }
    return before + loop(guard.conditions(), body) + after + "  rows = loop_rows(red, row, in);\n";
  }

  // "!isinf(rows.m)" where one of these reads m, a row of a maximum.
  std::string has_started(const std::vector<expr::Expr>& readers) const {
    std::string condition;
    for (const RowValue* row : loop_rows_) {
      const bool read = std::ranges::any_of(
          readers, [&](const expr::Expr& e) { return expr::mentions(e, row->name); });
      if (!read || !rows_of_maxima_.contains(row->name)) continue;
      condition += fmt::format("{}!isinf(rows.{})", condition.empty() ? "" : " && ",
                               DeviceNames::member(row->name));
    }
    return condition;
  }
  static std::vector<expr::Expr> elements_of(const std::vector<const Reduction*>& pass) {
    std::vector<expr::Expr> elements;
    elements.reserve(pass.size());
    for (const Reduction* reduction : pass) elements.push_back(reduction->element);
    return elements;
  }

  static std::string_view identity_of(const Reduction& reduction) {
    return reduction.kind == Reduction::Kind::Max ? "-INFINITY" : "0";
  }

  // What the elements of a reduction were left without: " * 0.125f", or "".
  std::string left_factor(const Reduction& reduction) const {
    const double factor = element_of(reduction).factor;
    return factor == 1 ? "" : " * " + expr::float_literal(factor);
  }

  // Pairs are counted as whole numbers: of a block that is full, the compiler knows how many.
  static bool is_count(const Reduction& reduction) {
    return reduction.kind == Reduction::Kind::Sum && reduction.element.is_number();
  }

  // The loop that weighs, and what stands around it.
  struct WeightPass {
    std::string before, sums, after;
  };

  void add_count(const Reduction& reduction, WeightPass& pass) const {
    const std::string number = expr::print_c(reduction.element, expr::Dialect::Device);
    pass.before += fmt::format("  int {}_count = 0;\n", reduction.name);
    pass.sums += fmt::format("      {}_count += exists;\n", reduction.name);
    pass.after += fmt::format("  red.{0} += {1}{0}_count;\n", reduction.name,
                              number == "1.0f" ? "" : number + " * ");
  }
  void add_reduction(const Reduction& reduction, const Guard& guard, WeightPass& pass) const {
    const std::string& name = reduction.name;
    const std::string scale = factor(reduction), left = left_factor(reduction);
    if (!scale.empty()) {
      pass.before +=
          fmt::format("  red.{} *= {};\n", name, has_own_factor(reduction) ? scale : "factor");
    }
    if (!left.empty()) {
      pass.before += fmt::format("  float {} = {};\n", name, identity_of(reduction));
      pass.after += reduction.kind == Reduction::Kind::Max
                        ? wrapped(fmt::format("  red.{0} = fmaxf(red.{0}, {0}{1});", name, left))
                        : fmt::format("  red.{0} += {0}{1};\n", name, left);
    }
    const std::string target = left.empty() ? "red." + name : name;
    pass.sums += sums_weights(reduction) ? fmt::format("      {} += weight;\n", target)
                                         : reduce(reduction, target, guard);
  }

  std::string weight_pass() const {
    WeightPass pass;
    if (weights_wait_) pass.before = "  const bool started = has_started(rows);\n";
    const Guard guard = guard_of_weights();
    for (const Reduction* reduction : last_pass_) {
      is_count(*reduction) ? add_count(*reduction, pass) : add_reduction(*reduction, guard, pass);
    }
    if (inverts_pairs()) {
      return pass.before + denominators() + loop({}, masked() + pass.sums) + pass.after;
    }
    // Computed for every pair and then selected: a branch a pair serialises the matrix products.
    std::string body =
        wrapped(fmt::format("      float weight = {};", pair_value("weight_of", pairs_.weight)));
    body += fmt::format("      if (!{}) weight = 0;\n", guard.of(waits(form_.weight)));
    // A mean reads no score.
    if (has_word(body + pass.sums, reads_product() ? "product" : "score")) {
      body.insert(0, score_line(passes_.empty(), false));
    }
    body += fmt::format("      {} = weight;\n", fragment_.element);
    return pass.before + loop(guard.conditions(), guard.line() + body + pass.sums) + pass.after;
  }

  // For a block that is whole, whose pairs are not asked.
  std::string waiting_text() const {
    std::vector<expr::Expr> readers = elements_of(last_pass_);
    readers.push_back(form_.weight);
    std::string dropped;
    for (const Reduction* reduction : last_pass_) {
      if (!waits(reduction->element)) continue;
      dropped += fmt::format("  red.{} = {};\n", reduction->name, identity_of(*reduction));
    }
    if (waits(form_.weight)) {
      dropped += fmt::format(
          "#pragma unroll\n"
          "  for (int j = 0; j < {}; ++j) {{\n"
          "#pragma unroll\n"
          "    for (int e = 0; e < {}; ++e) {} = 0;\n"
          "  }}\n",
          fragment_.groups, fragment_.elements, fragment_.element);
    }
    std::vector<std::string> parameters = of_scores();
    parameters.emplace_back("Reductions& red");
    return "// Whether a pair with a finite score has come. Before, none counts.\n" +
           text_of({"bool",
                    "has_started",
                    {"const LoopRows& rows"},
                    wrapped("  return " + has_started(readers) + ";")}) +
           "\n" + text_of({"void", "drop_weights", std::move(parameters), dropped}) + "\n";
  }

  // Weights 1 / (1 + 2^x): the reciprocals of two columns cost one.
  bool inverts_pairs() const {
    return fragment_.vendor == expr::Vendor::Nvidia && passes_.empty() &&
           attention::logistic_exponent(pairs_.weight) &&
           std::all_of(last_pass_.begin(), last_pass_.end(),
                       [](const Reduction* reduction) { return is_count(*reduction); });
  }
  // A pair that does not exist has a denominator that spoils no other's: its product may be NaN.
  std::string denominators() const {
    return "  float largest = 0;\n" +
           wrapped_loop(
               exists_line() + score_line(true, false) +
                   wrapped(fmt::format("      {} = exists ? denominator_of({}) : 1;",
                                       fragment_.element, arguments())),
               "    largest = fmaxf(largest, fmaxf(scores[j][r][0], scores[j][r][1]));\n") +
           "  // The reciprocals of two columns cost one, unless their product leaves the floats.\n"
           "  if (__all_sync(0xffffffffu, largest < 0x1p63f)) {\n"
           "#pragma unroll\n"
           "    for (int j = 0; j < kTileKv / 8; ++j) invert(scores[j][r][0], scores[j][r][1]);\n"
           "  } else {\n"
           "#pragma unroll\n"
           "    for (int j = 0; j < kTileKv / 8; ++j) {\n"
           "      scores[j][r][0] = reciprocal(scores[j][r][0]);\n"
           "      scores[j][r][1] = reciprocal(scores[j][r][1]);\n"
           "    }\n"
           "  }\n";
  }
  std::string masked() const {
    return fmt::format("      if (!exists) {} = 0;\n", fragment_.element);
  }
  std::string weight_heading() const {
    std::string heading = comment("weight", expr::print_brief(form_.weight));
    if (pairs_.weight_factor != 1) {
      heading += fmt::format("// Without a factor of {}, which the output has.\n",
                             expr::float_literal(pairs_.weight_factor));
    }
    return heading;
  }
  std::string denominator_text() const {
    return weight_heading() + "// One over this:\n" +
           text_of({"float", "denominator_of", parameters(),
                    returned(pairs_.weight.operand(1), names_.score_names(pairs_))}) +
           "\n"
           "__device__ __forceinline__ void invert(float& x, float& y) {\n"
           "  const float inverse = reciprocal(x * y), other = x;\n"
           "  x = y * inverse;\n"
           "  y = other * inverse;\n"
           "}\n\n";
  }

  // A block of scores, and which of several rows.
  std::vector<std::string> of_scores() const {
    std::vector<std::string> parameters{std::string(fragment_.scores)};
    if (!fragment_.row.empty()) parameters.emplace_back(fragment_.row);
    return parameters;
  }

  std::string absorb_function() const {
    std::string body;
    for (size_t i = 0; i < passes_.size(); ++i) body += row_pass(passes_[i], i == 0);
    if (!form_.row_free()) {
      body += "  const float factor = rescale_factor(old, rows, row, in);\n";
    }
    body += weight_pass();
    if (!form_.row_free()) body += "  return factor;\n";
    if (pairs_.has_lines()) {
      body.insert(0, "  const Lines lines = lines_at(row, kv_first, in);\n");
    }
    body.insert(0, keys_lines(body));
    if (pairs_.bias) body.insert(0, biases_line());
    if (pairs_.mask_bits) body.insert(0, "  const MaskBits bits = load_mask_bits(row.bits);\n");
    if (has_word(body, "old")) body.insert(0, "  const LoopRows old = rows;\n");
    if (has_rows()) body.insert(0, "  LoopRows rows = loop_rows(red, row, in);\n");
    std::vector<std::string> parameters = of_scores();
    parameters.insert(parameters.end(),
                      {"int kv_first", "const Row& row", "const Inputs& in", "Reductions& red"});
    return fmt::format("// One block of {}: scores in, weights out.",
                       fragment_.row.empty() ? "a row" : "row r") +
           (form_.row_free() ? "" : " Returns the factor by which the accumulator shrinks.") +
           (pairs_.positive_part ? "\n// pack_positive_part takes the relu." : "") + "\n" +
           text_of({form_.row_free() ? "void" : "float", "absorb", std::move(parameters), body,
                    pairs_.bias ? "template <bool kMasked, typename Biases>"
                                : "template <bool kMasked>"});
  }

  std::vector<std::vector<const Reduction*>> passes_;  // before the weights
  std::vector<const Reduction*> last_pass_;            // together with the weights
  NameSet rows_of_maxima_;
  bool weights_wait_ = false;
};

}  // namespace

std::string absorb_functions(const spec::Spec& spec, const RowForm& rows, const PairForm& pairs,
                             const DeviceNames& names, const Fragment& fragment) {
  return Absorb(spec, rows, pairs, names, fragment).text() +
         near_functions(spec, rows, pairs, names, fragment) +
         far_functions(spec, rows, pairs, names, fragment);
}

}  // namespace attngen::emit
