#include "emit/pair_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/device_text.h"
#include "emit/mask_functions.h"
#include "emit/user_functions.h"

namespace attngen::emit {

using attention::PairForm;
using attention::Reduction;
using attention::RowForm;
using attention::RowValue;

namespace {

bool needs_column(const PairForm& pairs) {
  return pairs.has_lines() || pairs.has_value_strips() || pairs.divides_keys ||
         pairs.reads(attention::kColumn);
}

}  // namespace

std::string bias_declaration(const PairForm& pairs) {
  return pairs.bias->has_bytes() ? "int byte" : "float bias";
}
std::string biases_line() { return "  const Biases biases = Biases::load(row.bias, row.bias);\n"; }
std::string bias_argument(const PairForm& pairs) {
  return pairs.bias->has_bytes() ? "byte, " : "bias, ";
}

std::vector<std::string> pair_parameters(const PairForm& pairs) {
  std::vector<std::string> parameters{"float product"};
  if (pairs.scores_read_bias()) parameters.push_back(bias_declaration(pairs));
  parameters.emplace_back(kRow);
  if (pairs.has_lines()) parameters.emplace_back("const Lines& lines");
  if (needs_column(pairs)) parameters.emplace_back("int column");
  parameters.insert(parameters.end(), {"int kv_idx", "const Inputs& in"});
  return parameters;
}

std::string pair_arguments(const PairForm& pairs, std::string_view first) {
  return fmt::format("{}, {}row, {}{}kv_idx, in", first,
                     pairs.scores_read_bias() ? bias_argument(pairs) : "",
                     pairs.has_lines() ? "lines, " : "", needs_column(pairs) ? "column, " : "");
}

PairText::PairText(const spec::Spec& spec, const RowForm& form, const PairForm& pairs,
                   const DeviceNames& names, const Fragment& fragment)
    : spec_(spec), form_(form), pairs_(pairs), names_(names), fragment_(fragment) {
  find_loop_rows();
}

// The rows read in the loop, and the rows that these read.
void PairText::find_loop_rows() {
  for (auto row = form_.rows.rbegin(); row != form_.rows.rend(); ++row) {
    const bool read = std::any_of(loop_rows_.begin(), loop_rows_.end(), [&](const RowValue* later) {
      return expr::mentions(later->value, row->name);
    });
    if (row->in_loop || read) loop_rows_.insert(loop_rows_.begin(), &*row);
  }
}

const attention::PairElement& PairText::element_of(const Reduction& reduction) const {
  return pairs_.elements[static_cast<size_t>(&reduction - form_.reductions.data())];
}

std::optional<std::string> PairText::inline_value(const expr::Expr& e) const {
  if (e.op() != expr::Op::Variable && !e.is_number()) return std::nullopt;
  if (e.op() == expr::Op::Variable && e.name() != "score" && e.name() != attention::kProduct) {
    return std::nullopt;
  }
  return expr::print_c(e, expr::Dialect::Device, names_.names());
}
std::string PairText::pair_value(const std::string& function, const expr::Expr& e) const {
  return inline_value(e).value_or(fmt::format("{}({})", function, arguments()));
}
bool PairText::sums_weights(const Reduction& reduction) const {
  return reduction.deferred && reduction.kind == Reduction::Kind::Sum &&
         expr::same(reduction.element, form_.weight);
}
std::string PairText::element_value(const Reduction& reduction) const {
  return sums_weights(reduction) ? pair_value("weight_of", pairs_.weight)
                                 : pair_value(element_name(reduction), element_of(reduction).value);
}
std::vector<std::string> PairText::parameters() const {
  std::vector<std::string> parameters = pair_parameters(pairs_);
  parameters[0] = reads_product() ? "float product" : "float score";
  if (has_rows()) parameters.emplace_back("const LoopRows& rows");
  return parameters;
}
std::string PairText::arguments() const {
  return pair_arguments(pairs_, reads_product() ? "product" : "score") +
         (has_rows() ? ", rows" : "");
}
std::string PairText::loop(const Conditions& further, const std::string& body) const {
  return wrapped_loop(exists_line(further) + body);
}
std::string PairText::keys_lines(std::string_view body) const {
  if (!has_word(body, "keys")) return "";
  const bool own_end = fragment_.end == kOwnEnd;
  return fmt::format("  {}KeyRange keys = key_range(row.q_idx, row.q_idx, row, in);\n",
                     own_end ? "" : "const ") +
         (own_end ? "  keys.end = min(keys.end, row.end);\n" : "");
}
std::string PairText::exists_line(const Conditions& further) const {
  // Of an interval mask, two limits a row stand in for the test of every pair.
  const bool nvidia = fragment_.vendor == expr::Vendor::Nvidia;
  const bool eager = nvidia && !pairs_.mask_loads();  // as pair_exists is
  // Where zeros are masked, the last key ends all rows alike: one of its own is asked all the same.
  const bool ends_by_itself = pairs_.zero_is_masked() && fragment_.end != kOwnEnd;
  const std::string before = ends_by_itself ? ""
                             : eager        ? fmt::format("(key < {}) & ", fragment_.end)
                                            : fmt::format("key < {} && ", fragment_.end);
  const std::string inside =
      pairs_.mask_bits     ? "bits(j, e)"
      : is_interval(spec_) ? "key >= keys.begin && key < keys.end"
                           : fmt::format("{}pair_exists(row, {}{}kv_idx, in)", before,
                                         pairs_.mask_reads_bias() ? bias_argument(pairs_) : "",
                                         nvidia ? "column, " : "");
  const std::string tested = further.of_tested.empty() ? "" : further.of_tested + " && ";
  const bool one = pairs_.mask_bits && tested.empty();
  const std::string exists =
      fmt::format(fmt::runtime(one ? "!kMasked || {}{}" : "!kMasked || ({}{})"), tested, inside);
  return wrapped("      const bool exists = " +
                 (further.of_all.empty() ? exists : further.of_all + " && (" + exists + ")") + ";");
}
std::string PairText::wrapped_loop(const std::string& body, std::string_view behind,
                                   std::string_view ahead) const {
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
      !has_word(body, "kv_idx") ? ""
      : pairs_.listed_keys      ? "      const int kv_idx = row.listed[key - kv_first];\n"
                           : "      const int kv_idx = kMasked ? min(key, row.seq_kv - 1) : key;\n",
      pairs_.bias && (has_word(body, "bias") || has_word(body, "byte"))
          ? fmt::format("      const {} = biases(j, r, e);\n", bias_declaration(pairs_))
          : "",
      body, behind);
}

std::string PairText::score_line(bool first, bool kept) const {
  const std::string element(fragment_.element);
  if (reads_product()) return fmt::format("      const float product = {};\n", element);
  if (!first) return fmt::format("      const float score = {};\n", element);
  std::string line = is_plain_score(spec_)
                         ? fmt::format("      const float score = {} * kScale;\n", element)
                         : wrapped(fmt::format("      const float score = score_of({});",
                                               pair_arguments(pairs_, element)));
  if (kept) line += fmt::format("      {} = score;\n", element);
  return line;
}

}  // namespace attngen::emit
