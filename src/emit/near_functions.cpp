#include "emit/near_functions.h"

#include <fmt/format.h>

#include "emit/device_text.h"
#include "emit/pair_text.h"
#include "expr/decimal.h"

namespace attngen::emit {
namespace {

class NearFunctions : public PairText {
 public:
  using PairText::PairText;

  // Both rows in one, and one test at its end: a test each would part their instructions.
  std::string text() const {
    const attention::NearLogistic& near = *pairs_.near_logistic;
    const std::string pass = wrapped_loop(
        exists_line() + score_line(true, false) +
            wrapped(fmt::format("      power[e] = exists ? near_power_of({}) : 0;", arguments())) +
            fmt::format("      {} = power[e] - power[e] * power[e];\n", fragment_.element),
        wrapped("    largest[r] = __vimax3_u32(largest[r], __float_as_uint(power[0]), "
                "__float_as_uint(power[1]));"),
        "    float power[2];\n");
    std::string row = "  const Row& row = rows[r];\n";
    if (pairs_.has_lines()) row += "  const Lines lines = lines_at(row, kv_first, in);\n";
    row += keys_lines(pass);
    if (pairs_.bias) row += biases_line();
    if (pairs_.mask_bits) row += "  const MaskBits bits = load_mask_bits(row.bits);\n";
    return "\n// Of a small weight e / (1 + e) a multiple of e.\n" +
           text_of({"float", "near_power_of", parameters(),
                    "  return exp2_approx(" +
                        expr::print_c(near.exponent, expr::Dialect::Device, names_.pair_names()) +
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
                                expr::float_literal(near.highest)),
                pairs_.bias ? "template <bool kMasked, typename Biases>"
                            : "template <bool kMasked>"});
  }
};

}  // namespace

std::string near_functions(const spec::Spec& spec, const attention::RowForm& rows,
                           const attention::PairForm& pairs, const DeviceNames& names,
                           const Fragment& fragment) {
  return pairs.near_logistic ? NearFunctions(spec, rows, pairs, names, fragment).text() : "";
}

}  // namespace attngen::emit
