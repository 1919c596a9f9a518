#include "emit/far_functions.h"

#include <fmt/format.h>

#include "emit/device_text.h"
#include "emit/pair_text.h"
#include "expr/decimal.h"

namespace attngen::emit {
namespace {

using attention::Reduction;

class FarFunctions : public PairText {
 public:
  using PairText::PairText;

  std::string text() const {
    std::string text = pairs_.far->key_weight ? key_weights(*pairs_.far->key_weight) : decay();
    if (attention::sums_products(form_)) return text + far_sums();
    if (attention::sums_keys(form_)) text += key_sums();
    return text + far_counts();
  }

 private:
  std::string decay() const {
    const expr::Expr& growth = pairs_.far->slope;
    const bool is_factor = growth.is_number() || growth.op() == expr::Op::Variable;
    const std::string slope = expr::print_c(growth, expr::Dialect::Device, names_.names());
    return "\n// What is left of a key's weight beside that of one so many keys on.\n" +
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
  }
  std::string key_weights(const attention::KeyWeight& key) const {
    std::string text =
        "\n// Of a key's weight what the key alone decides: the exponent of a power of two" +
        std::string(key.factor ? ", and a factor.\n" : ".\n") +
        of_key("key_exponent", key.exponent ? key.exponent : expr::number(0));
    if (key.factor) text += "\n" + of_key("key_factor", key.factor);
    return text + "\n// The weight that a product of 1 has at a key whose exponent is `unit`.\n" +
           text_of({"float",
                    "weight_of_one",
                    {kRow, "float unit", kInputs},
                    returned(key.of_row, names_.names())});
  }
  std::string of_key(const char* name, const expr::Expr& value) const {
    return text_of({"float", name, {kRow, "int kv_idx", kInputs}, returned(value, names_.names())});
  }
  std::string key_sums() const {
    std::string sums;
    for (size_t i = 0; i < form_.reductions.size(); ++i) {
      if (pairs_.far->sums[i] == attention::FarSum::Score)
        sums += wrapped(fmt::format("  red.{} += weights;", form_.reductions[i].name));
    }
    return "\n// What the weights of far keys add up to.\n" +
           text_of({"void", "sum_far", {"float weights", "Reductions& red"}, sums});
  }
  // Of keys that no loop visits.
  std::string far_counts() const {
    std::string counts;
    for (size_t i = 0; i < form_.reductions.size(); ++i) {
      if (pairs_.far->sums[i] == attention::FarSum::Number) counts += counted(form_.reductions[i]);
    }
    if (counts.empty()) return "";
    return "\n// What so many far columns of a thread add up to.\n" +
           text_of({"void", "count_far", {"int columns", "Reductions& red"}, counts});
  }
  static std::string counted(const Reduction& reduction) {
    const double number = reduction.element.number();
    const std::string factor = number == 1 ? "" : " * " + expr::float_literal(number);
    return wrapped(fmt::format("  red.{} += columns{};", reduction.name, factor));
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
  std::string far_sums() const {
    std::string members, sums, after, counts;
    for (size_t i = 0; i < form_.reductions.size(); ++i) {
      const Reduction& reduction = form_.reductions[i];
      const attention::FarSum sum = pairs_.far->sums[i];
      if (sum == attention::FarSum::Number) {
        counts += counted(reduction);
        continue;
      }
      members += fmt::format("  float {}[2] = {{}};\n", reduction.name);
      sums += fmt::format(
          "      sums.{0}[e] = sums.{0}[e] * shrink + {1};\n", reduction.name,
          sum == attention::FarSum::Absolute ? "fabsf(scores[j][r][e])" : "scores[j][r][e]");
      after += absorbed(reduction);
    }
    return "\n// Sums over far keys, a thread's even and odd columns, at the weight of the last "
           "ones.\n"
           "struct FarSums {\n" +
           members + "};\n\n" + add_far(sums) + absorb_far(after, counts);
  }
  // A column's sum as one pair's; of several sums each is in a scope of its own.
  std::string absorbed(const Reduction& reduction) const {
    const bool alone = attention::sums_of_products(pairs_.far->sums) == 1;
    const char* const indent = alone ? "    " : "      ";
    return (alone ? "" : "    {\n") + far_pair(fmt::format("sums.{}[e]", reduction.name), indent) +
           wrapped(
               fmt::format("{}red.{} += {};", indent, reduction.name, element_value(reduction))) +
           (alone ? "" : "    }\n");
  }
  // A pair takes a multiply-add: of sums that are kept in the unit of the last eight columns, what
  // came before shrinks by eight columns' growth.
  static std::string add_far(const std::string& sums) {
    return "// One block of row r; `shrink` is the decay of a group of eight columns.\n" +
           text_of({"void",
                    "add_far",
                    {"const float (&scores)[kTileKv / 8][2][2]", "int r", "float shrink",
                     "FarSums& sums"},
                    "#pragma unroll\n"
                    "  for (int j = 0; j < kTileKv / 8; ++j) {\n"
                    "#pragma unroll\n"
                    "    for (int e = 0; e < 2; ++e) {\n" +
                        sums + "    }\n  }\n"});
  }
  std::string absorb_far(const std::string& sums, const std::string& counts) const {
    std::string body = lines_line("kv_first") +
                       "#pragma unroll\n"
                       "  for (int e = 0; e < 2; ++e) {\n" +
                       (reads_column() ? "    const int column = e;\n" : "") +
                       "    const int kv_idx = kv_first + e;\n" + sums + "  }\n";
    if (!counts.empty()) {
      body += "  const int columns = (kv_first / 8 + 1) * 2;  // of a thread\n" + counts;
    }
    return "\n// Their last even column is key kv_first.\n" +
           text_of({"void",
                    "absorb_far",
                    {"const FarSums& sums", "int kv_first", kRow, kInputs, "Reductions& red"},
                    body});
  }
};

}  // namespace

std::string far_functions(const spec::Spec& spec, const attention::RowForm& rows,
                          const attention::PairForm& pairs, const DeviceNames& names,
                          const Fragment& fragment) {
  return pairs.far ? FarFunctions(spec, rows, pairs, names, fragment).text() : "";
}

}  // namespace attngen::emit
