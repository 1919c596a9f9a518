#include "attention/fixed_max.h"

#include <doctest/doctest.h>

#include "spec/read.h"

namespace attngen::attention {
namespace {

RowForm form_of_spec(const std::string& normalize) {
  text::Diagnostics diagnostics(
      {"spec.yaml",
       "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 2, kv: 2}\nhead_dim: {qk: 64, v: 64}\n"
       "inputs: {sink: {dtype: f32, shape: [heads]}}\nconstants: {log2e: 1.4426950408889634}\n" +
           normalize});
  const auto spec = spec::read(diagnostics);
  REQUIRE_MESSAGE(spec.has_value(), diagnostics.render(text::ErrorFormat::Gcc));
  auto form = derive_row_form(spec->normalize);
  REQUIRE(std::holds_alternative<RowForm>(form));
  return std::get<RowForm>(form);
}

TEST_CASE("softmax and sinks do not depend on the maximum in use") {
  CHECK(may_fix_max(form_of_spec("normalize: softmax\n")));
  CHECK(may_fix_max(form_of_spec(R"(
normalize:
  rows:
    m: max(rowmax(score), sink[h])
    l: rowsum(exp(score - m)) + exp(sink[h] - m)
  weight: exp(score - m)
  output: acc / l
  save: {lse: m + log(l)}
)")));
}

TEST_CASE("a saved maximum, or a constant beside the sum, needs the true one") {
  CHECK_FALSE(may_fix_max(form_of_spec(R"(
normalize:
  rows: {m: rowmax(score), l: rowsum(exp(score - m))}
  weight: exp(score - m)
  output: acc / l
  save: {top: m}
)")));
  CHECK_FALSE(may_fix_max(form_of_spec(R"(
normalize:
  rows: {m: rowmax(score), l: rowsum(exp(score - m)) + 1}
  weight: exp(score - m)
  output: acc / l
)")));
}

RowForm with(const std::string& output, const std::string& saved) {
  return form_of_spec(
      "normalize:\n  rows: {m: rowmax(score), l: rowsum(exp(score - m))}\n"
      "  weight: exp(score - m)\n  output: \"" +
      output + "\"\n  save: {saved: \"" + saved + "\"}\n");
}

TEST_CASE("what depends on the maximum by little is not taken for what does not") {
  CHECK_FALSE(may_fix_max(with("acc / l * sigmoid(m - 40)", "m + log(l)")));
  CHECK_FALSE(may_fix_max(with("acc / l", "exp(m - 30)")));
  CHECK_FALSE(may_fix_max(with("acc / l", "1e-10 * m")));
  CHECK_FALSE(may_fix_max(with("acc / (l + 1e-12)", "m + log(l)")));
  CHECK_FALSE(may_fix_max(with("acc / l * tanh(1e-12 * l)", "m + log(l)")));
}

TEST_CASE("whatever way the maximum cancels") {
  for (const char* output :
       {"acc / l", "acc * (1 / l)", "acc / l * sink[h] + sink[h]",
        "tanh(acc / l) * sigmoid(acc / l)", "acc * rsqrt(square(l))",
        "relu(acc) / l - abs(acc / l)", "acc / pow(l, 1)", "acc * exp(m) / (l * exp(m))",
        "(acc + 2 * l) / (3 * l)", "acc / l if acc > 0 else -acc / l", "sqrt(square(acc)) / l",
        "max(0, acc) / l", "min(acc, 2 * l) / l", "(acc if acc <= l else 0) / l",
        "acc / l if acc >= -l and acc != l else 1", "pow(acc / l, sink[h])"}) {
    CAPTURE(output);
    CHECK(may_fix_max(with(output, "m + log(l)")));
  }
  for (const char* saved :
       {"(m + log(l)) / 2", "-(log(l) + m)", "m * log2e + log2(l)", "exp2(m * log2e) * l",
        "exp(m + log(l) - sink[h])", "log(l * l) + 2 * m"}) {
    CAPTURE(saved);
    CHECK(may_fix_max(with("acc / l", saved)));
  }
}

TEST_CASE("a branch that depends on the maximum needs the true one, wherever it bends") {
  CHECK(may_fix_max(with("acc / l", "m + log(l)")));
  CHECK_FALSE(may_fix_max(with("acc / l", "max(m, 6.5) + log(l)")));
  CHECK_FALSE(may_fix_max(with("acc / l * (1 if m < 1000 else 0.5)", "m + log(l)")));
  CHECK_FALSE(may_fix_max(with("acc / max(l, 1e-20)", "m + log(l)")));
  CHECK(may_fix_max(with("acc / l * max(sink[h], 2)", "m + log(l)")));
  CHECK_FALSE(may_fix_max(with("acc / l", "m * (0 if h == 3 else 1)")));
}

TEST_CASE("nor is what changes otherwise than by a factor or a summand") {
  for (const char* saved :
       {"sqrt(m)", "log(m)", "exp(l)", "-(m * l)", "pow(l, sink[h])", "l - m", "m + l", "0 - m",
        "max(m, 0)", "max(0, m)", "(m - 1) * log(l)", "sqrt(l) / l", "exp(log(l) - m)",
        "1 if l == m else 2", "0 if m >= 3 else m + log(l)"}) {
    CAPTURE(saved);
    CHECK_FALSE(may_fix_max(with("acc / l", saved)));
  }
}

TEST_CASE("other forms have no maximum to fix") {
  CHECK_FALSE(may_fix_max(form_of_spec("normalize: none\nscore: sigmoid(score)\n")));
}

}  // namespace
}  // namespace attngen::attention
