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
#include "emit/values.h"

namespace attngen::emit {
namespace {

using attention::PairForm;
using attention::Reduction;
using attention::RowForm;
using attention::RowValue;
using Name = std::set<std::string, std::less<>>;

// Two columns further in, but for the preprocessor's lines.
std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = text.find('\n') + 1;
    if (text.front() != '#') result += "  ";
    result += text.substr(0, end);
    text.remove_prefix(end);
  }
  return result;
}

bool mentions_any(const expr::Expr& e, const Name& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return expr::mentions(e, name); });
}

// The block update, from the form: which rows are current after every block, which reductions they
// need first, which may wait for the last pass.
class Absorb {
 public:
  Absorb(const spec::Spec& spec, const RowForm& form, const PairForm& pairs,
         const DeviceNames& names, const Fragment& fragment)
      : spec_(spec), form_(form), pairs_(pairs), names_(names), fragment_(fragment) {
    find_loop_rows();
    find_passes();
  }

  std::string text() const {
    std::string text = loop_rows_text();
    for (const Reduction& reduction : form_.reductions) {
      if (inline_value(element_of(reduction)) || sums_weights(reduction)) continue;
      text +=
          pair_function(element_name(reduction), element_of(reduction),
                        comment(fmt::format("{}: {} over the pairs of a row", reduction.name,
                                            reduction.kind == Reduction::Kind::Max ? "max" : "sum"),
                                expr::print(reduction.element)));
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
    return text + absorb_function() + near_function() + far_functions();
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

  const expr::Expr& element_of(const Reduction& reduction) const {
    return pairs_.elements[static_cast<size_t>(&reduction - form_.reductions.data())];
  }

  // In the last pass, the sum of the weights themselves.
  bool sums_weights(const Reduction& reduction) const {
    return reduction.deferred && reduction.kind == Reduction::Kind::Sum &&
           expr::same(reduction.element, form_.weight);
  }
  // What needs no function of its own: the score or the product itself, a number.
  std::optional<std::string> inline_value(const expr::Expr& e) const {
    if (e.op() != expr::Op::Variable && !e.is_number()) return std::nullopt;
    if (e.op() == expr::Op::Variable && e.name() != "score" && e.name() != attention::kProduct) {
      return std::nullopt;
    }
    return expr::print_c(e, expr::Dialect::Device, names_.names());
  }
  std::string pair_value(const std::string& function, const expr::Expr& e) const {
    return inline_value(e).value_or(fmt::format("{}({})", function, arguments()));
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

  // What weights and elements are functions of.
  bool reads_product() const { return !pairs_.score; }
  std::vector<std::string> parameters() const {
    std::vector<std::string> parameters = pair_parameters(pairs_);
    parameters[0] = reads_product() ? "float product" : "float score";
    if (has_rows()) parameters.emplace_back("const LoopRows& rows");
    return parameters;
  }
  std::string arguments() const {
    return pair_arguments(pairs_, reads_product() ? "product" : "score") +
           (has_rows() ? ", rows" : "");
  }
  std::string pair_function(const std::string& name, const expr::Expr& value,
                            const std::string& heading) const {
    return heading + text_of({"float", name, parameters(), returned(value, names_.names())}) + "\n";
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
    return wrapped_loop(exists_line(guard) + body);
  }
  std::string exists_line(const std::string& guard) const {
    // Of an interval mask, two limits a row stand in for the test of every pair.
    const char* inside = is_interval(spec_) ? "key >= keys.begin && key < keys.end"
                                            : "key < row.seq_kv && pair_exists(row, kv_idx, in)";
    const std::string exists = fmt::format("!kMasked || ({})", inside);
    return wrapped(
        "      const bool exists = " + (guard.empty() ? exists : guard + "(" + exists + ")") + ";");
  }
  // `ahead` comes before the elements of one j, `behind` follows them.
  std::string wrapped_loop(const std::string& body, std::string_view behind = "",
                           std::string_view ahead = "") const {
    return fmt::format(
        "#pragma unroll\n"
        "  for (int j = 0; j < {}; ++j) {{\n"
        "{}"
        "#pragma unroll\n"
        "    for (int e = 0; e < {}; ++e) {{\n"
        "{}{}{}{}{}"
        "    }}\n"
        "{}"
        "  }}\n",
        fragment_.groups, ahead, fragment_.elements,
        has_word(body, "key") || has_word(body, "column") || has_word(body, "kv_idx")
            ? fmt::format("      const int key = {};\n", fragment_.key)
            : "",
        has_word(body, "column") ? "      const int column = key - kv_first;\n" : "",
        has_word(body, "kv_idx")
            ? "      const int kv_idx = kMasked ? min(key, row.seq_kv - 1) : key;\n"
            : "",
        pairs_.bias && has_word(body, "bias") ? "      const float bias = biases(j, r, e);\n" : "",
        body, behind);
  }

  // The first pass makes scores of products; later ones read them.
  std::string score_line(bool first, bool kept) const {
    const std::string element(fragment_.element);
    if (!first) return fmt::format("      const float score = {};\n", element);
    if (reads_product()) return fmt::format("      const float product = {};\n", element);
    std::string line = is_plain_score(spec_)
                           ? fmt::format("      const float score = {} * kScale;\n", element)
                           : wrapped(fmt::format("      const float score = score_of({});",
                                                 pair_arguments(pairs_, element)));
    if (kept) line += fmt::format("      {} = score;\n", element);
    return line;
  }

  // Computed for every pair and then selected: a branch a pair serialises the matrix products.
  std::string reduce(const Reduction& reduction, const std::string& target) const {
    const std::string term = reduction.name + "_term";
    const std::string element = pair_value(element_name(reduction), element_of(reduction));
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

  // Pairs are counted as whole numbers: of a block that is full, the compiler knows how many.
  static bool is_count(const Reduction& reduction) {
    return reduction.kind == Reduction::Kind::Sum && reduction.element.is_number();
  }

  std::string weight_pass() const {
    std::string before, guard, after;
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
    std::string sums;
    for (const Reduction* reduction : last_pass_) {
      const std::string target = "red." + reduction->name;
      if (is_count(*reduction)) {
        const std::string number = expr::print_c(reduction->element, expr::Dialect::Device);
        before += fmt::format("  int {}_count = 0;\n", reduction->name);
        sums += fmt::format("      {}_count += exists;\n", reduction->name);
        after += fmt::format("  {} += {}{}_count;\n", target,
                             number == "1.0f" ? "" : number + " * ", reduction->name);
      } else {
        sums += sums_weights(*reduction) ? fmt::format("      {} += weight;\n", target)
                                         : reduce(*reduction, target);
      }
    }
    if (inverts_pairs()) return before + denominators(guard) + loop(guard, masked() + sums) + after;
    std::string body = score_line(passes_.empty(), false);
    // Computed for every pair and then selected: a branch a pair serialises the matrix products.
    body +=
        wrapped(fmt::format("      float weight = {};", pair_value("weight_of", pairs_.weight)));
    body += "      if (!exists) weight = 0;\n";
    body += fmt::format("      {} = weight;\n", fragment_.element);
    return before + loop(guard, body + sums) + after;
  }

  // Weights 1 / (1 + 2^x): the reciprocals of two columns cost one.
  bool inverts_pairs() const {
    return fragment_.vendor == expr::Vendor::Nvidia && passes_.empty() &&
           attention::logistic_exponent(pairs_.weight) &&
           std::all_of(last_pass_.begin(), last_pass_.end(),
                       [](const Reduction* reduction) { return is_count(*reduction); });
  }
  // A pair that does not exist has a denominator that spoils no other's: its product may be NaN.
  std::string denominators(const std::string& guard) const {
    return "  float largest = 0;\n" +
           wrapped_loop(
               exists_line(guard) + score_line(true, false) +
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
    std::string heading = comment("weight", expr::print(form_.weight));
    if (pairs_.weight_factor != 1) {
      heading += fmt::format("// Without a factor of {}, which the output has.\n",
                             float_literal(pairs_.weight_factor));
    }
    return heading;
  }
  std::string denominator_text() const {
    return weight_heading() + "// One over this:\n" +
           text_of({"float", "denominator_of", parameters(),
                    returned(pairs_.weight.operand(1), names_.names())}) +
           "\n"
           "__device__ __forceinline__ void invert(float& x, float& y) {\n"
           "  const float inverse = reciprocal(x * y), other = x;\n"
           "  x = y * inverse;\n"
           "  y = other * inverse;\n"
           "}\n\n";
  }

  // Both rows in one, and one test at its end: a test each would part their instructions.
  std::string near_function() const {
    if (!pairs_.near_logistic) return "";
    const attention::NearLogistic& near = *pairs_.near_logistic;
    const std::string pass = wrapped_loop(
        exists_line("") + score_line(true, false) +
            wrapped(fmt::format("      power[e] = exists ? near_power_of({}) : 0;", arguments())) +
            fmt::format("      {} = power[e] - power[e] * power[e];\n", fragment_.element),
        wrapped("    largest[r] = __vimax3_u32(largest[r], __float_as_uint(power[0]), "
                "__float_as_uint(power[1]));"),
        "    float power[2];\n");
    std::string row = "  const Row& row = rows[r];\n";
    if (pairs_.has_lines()) row += "  const Lines lines = lines_at(row, kv_first, in);\n";
    if (has_word(pass, "keys")) {
      row += "  const KeyRange keys = key_range(row.q_idx, row.q_idx, row, in);\n";
    }
    if (pairs_.bias) row += "  const Biases biases = load_biases(row.bias);\n";
    return "\n// Of a small weight e / (1 + e) a multiple of e.\n" +
           text_of({"float", "near_power_of", parameters(),
                    "  return exp2_approx(" +
                        expr::print_c(near.exponent, expr::Dialect::Device, names_.names()) +
                        ");\n"}) +
           "\n"
           "// As absorb of both rows, of weights that are small: a power less its square, right "
           "to a\n"
           "// bf16's rounding. False if one is not small, or is a NaN; the scores are lost "
           "then.\n" +
           text_of(
               {"bool",
                "absorb_near",
                {std::string(fragment_.scores), "int kv_first", "const Row (&rows)[2]",
                 "const Inputs& in"},
                "  uint32_t largest[2] = {};  // of the powers' bits, which are in their order\n"
                "#pragma unroll\n"
                "  for (int r = 0; r < 2; ++r) {\n" +
                    indented(row + pass) + "  }\n" +
                    fmt::format("  return max(largest[0], largest[1]) < __float_as_uint({});\n",
                                float_literal(near.highest)),
                "template <bool kMasked>"});
  }

  // Of keys whose values a state holds.
  std::string far_functions() const {
    if (!pairs_.far) return "";
    const expr::Expr& growth = pairs_.far->slope;
    const bool is_factor = growth.is_number() || growth.op() == expr::Op::Variable;
    const std::string slope = expr::print_c(growth, expr::Dialect::Device, names_.names());
    std::string text =
        "\n// What is left of a key's weight beside that of one so many keys on.\n" +
        text_of({"float",
                 "decay",
                 {kRow, "int keys", kInputs},
                 wrapped(fmt::format("  return exp2_approx(-keys * {});",
                                     is_factor ? slope : "(" + slope + ")"))}) +
        "\n// The weight that a product of 1 has at key kv_idx.\n" +
        text_of({"float",
                 "weight_of_one",
                 {kRow, "int kv_idx", kInputs},
                 lines_line("kv_idx") + (reads_column() ? "  const int column = 0;\n" : "") +
                     far_pair("1", "  ") +
                     fmt::format("  return {};\n", pair_value("weight_of", pairs_.weight))});
    return form_.reductions.empty() ? text : text + far_sums();
  }
  bool reads_column() const { return pairs_.has_lines() || pairs_.reads(attention::kColumn); }
  std::string lines_line(std::string_view key) const {
    return pairs_.has_lines() ? fmt::format("  const Lines lines = lines_at(row, {}, in);\n", key)
                              : "";
  }
  // What weights and elements are functions of, of a pair with this product.
  std::string far_pair(std::string_view product, std::string_view indent) const {
    return reads_product() ? fmt::format("{}const float product = {};\n", indent, product)
                           : wrapped(fmt::format("{}const float score = score_of({});", indent,
                                                 pair_arguments(pairs_, product)));
  }
  // A pair takes a multiply-add: of sums that are kept in the unit of the last eight columns, what
  // came before shrinks by eight columns' growth.
  std::string far_sums() const {
    std::string members, sums, after, counts;
    for (size_t i = 0; i < form_.reductions.size(); ++i) {
      const Reduction& reduction = form_.reductions[i];
      const attention::FarSum sum = pairs_.far->sums[i];
      if (sum == attention::FarSum::Number) {
        const double number = reduction.element.number();
        const std::string factor = number == 1 ? "" : " * " + float_literal(number);
        counts += wrapped(fmt::format("  red.{} += columns{};", reduction.name, factor));
        continue;
      }
      members += fmt::format("  float {}[2] = {{}};\n", reduction.name);
      sums += fmt::format(
          "      sums.{0}[e] = sums.{0}[e] * shrink + {1};\n", reduction.name,
          sum == attention::FarSum::Absolute ? "fabsf(scores[j][r][e])" : "scores[j][r][e]");
      const std::string element = pair_value(element_name(reduction), element_of(reduction));
      const bool alone = attention::sums_of_products(pairs_.far->sums) == 1;  // else a scope each
      const char* const indent = alone ? "    " : "      ";
      after += (alone ? "" : "    {\n") +
               far_pair(fmt::format("sums.{}[e]", reduction.name), indent) +
               wrapped(fmt::format("{}red.{} += {};", indent, reduction.name, element)) +
               (alone ? "" : "    }\n");
    }
    return "\n// Sums over far keys, a thread's even and odd columns, at the weight of the last "
           "ones.\n"
           "struct FarSums {\n" +
           members + "};\n\n" +
           "// One block of row r; `shrink` is the decay of a group of eight columns.\n" +
           text_of({"void",
                    "add_far",
                    {"const float (&scores)[kTileKv / 8][2][2]", "int r", "float shrink",
                     "FarSums& sums"},
                    "#pragma unroll\n"
                    "  for (int j = 0; j < kTileKv / 8; ++j) {\n"
                    "#pragma unroll\n"
                    "    for (int e = 0; e < 2; ++e) {\n" +
                        sums + "    }\n  }\n"}) +
           "\n// Their last even column is key kv_first.\n" +
           text_of({"void",
                    "absorb_far",
                    {"const FarSums& sums", "int kv_first", kRow, kInputs, "Reductions& red"},
                    lines_line("kv_first") +
                        "#pragma unroll\n"
                        "  for (int e = 0; e < 2; ++e) {\n" +
                        (reads_column() ? "    const int column = e;\n" : "") +
                        "    const int kv_idx = kv_first + e;\n" + after + "  }\n" +
                        (counts.empty() ? ""
                                        : "  const int columns = (kv_first / 8 + 1) * 2;  // of a "
                                          "thread\n" +
                                              counts)});
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
    if (has_word(body, "keys")) {
      body.insert(0, "  const KeyRange keys = key_range(row.q_idx, row.q_idx, row, in);\n");
    }
    if (pairs_.bias) body.insert(0, "  const Biases biases = load_biases(row.bias);\n");
    if (has_word(body, "old")) body.insert(0, "  const LoopRows old = rows;\n");
    if (has_rows()) body.insert(0, "  LoopRows rows = loop_rows(red, row, in);\n");
    std::vector<std::string> parameters{std::string(fragment_.scores)};
    if (!fragment_.row.empty()) parameters.emplace_back(fragment_.row);
    parameters.insert(parameters.end(),
                      {"int kv_first", "const Row& row", "const Inputs& in", "Reductions& red"});
    return fmt::format("// One block of {}: scores in, weights out.",
                       fragment_.row.empty() ? "a row" : "row r") +
           (form_.row_free() ? "" : " Returns the factor by which the accumulator shrinks.") +
           (pairs_.positive_part ? "\n// pack_positive_part takes the relu." : "") + "\n" +
           text_of({form_.row_free() ? "void" : "float", "absorb", std::move(parameters), body,
                    "template <bool kMasked>"});
  }

  const spec::Spec& spec_;
  const RowForm& form_;
  const PairForm& pairs_;
  const DeviceNames& names_;
  const Fragment& fragment_;
  std::vector<const RowValue*> loop_rows_;             // in the order of the spec
  std::vector<std::vector<const Reduction*>> passes_;  // before the weights
  std::vector<const Reduction*> last_pass_;            // together with the weights
};

}  // namespace

std::vector<std::string> pair_parameters(const PairForm& pairs) {
  std::vector<std::string> parameters{"float product"};
  if (pairs.bias) parameters.emplace_back("float bias");
  parameters.emplace_back(kRow);
  if (pairs.has_lines()) parameters.emplace_back("const Lines& lines");
  if (pairs.has_lines() || pairs.reads(attention::kColumn)) parameters.emplace_back("int column");
  parameters.insert(parameters.end(), {"int kv_idx", "const Inputs& in"});
  return parameters;
}

std::string pair_arguments(const PairForm& pairs, std::string_view first) {
  return fmt::format("{}, {}row, {}{}kv_idx, in", first, pairs.bias ? "bias, " : "",
                     pairs.has_lines() ? "lines, " : "",
                     pairs.has_lines() || pairs.reads(attention::kColumn) ? "column, " : "");
}

std::string absorb_functions(const spec::Spec& spec, const RowForm& rows, const PairForm& pairs,
                             const DeviceNames& names, const Fragment& fragment) {
  return Absorb(spec, rows, pairs, names, fragment).text();
}

}  // namespace attngen::emit
