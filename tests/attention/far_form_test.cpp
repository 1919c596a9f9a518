#include "attention/far_form.h"

#include <fmt/format.h>

#include <string>
#include <variant>

#include "attention/pair_form.h"
#include "expr/print.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::spec_of;

std::optional<FarForm> far_form(const std::string& lines, spec::DType dtype = spec::DType::Bf16) {
  spec::Spec spec = spec_of(lines);
  spec.dtype = dtype;
  const auto rows = derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<RowForm>(rows));
  return pair_form(spec, std::get<RowForm>(rows), {.far = true}).far;
}

constexpr const char* kDecay = "score: score * exp((q_pos - kv_idx) * sink[h])\n";
constexpr const char* kCausal = "mask: kv_idx <= q_pos\n";
constexpr const char* kRetention =
    "normalize: {rows: {l: \"max(rowsum(abs(score)), 1)\"}, weight: score, output: acc / l}\n";
constexpr const char* kLinear = "normalize: {weight: score}\n";

std::string with(const std::string& score, const std::string& mask, const std::string& normalize) {
  return score + mask + normalize;
}

TEST_CASE("retention grows evenly along the keys, and sums absolute values") {
  const auto far = far_form(with(kDecay, kCausal, kRetention));
  REQUIRE(far.has_value());
  CHECK(far->sums == std::vector{FarSum::Absolute});
  CHECK(expr::mentions(far->slope, "$c1"));
}

TEST_CASE("sums of the weights themselves, or none") {
  const auto sums = far_form(with(
      kDecay, kCausal, "normalize: {rows: {l: rowsum(score)}, weight: score, output: acc + l}\n"));
  REQUIRE(sums.has_value());
  CHECK(sums->sums == std::vector{FarSum::Score});
  CHECK(sums_of_products(sums->sums) == 0);
  const auto linear = far_form(with(kDecay, kCausal, kLinear));
  REQUIRE(linear.has_value());
  CHECK(linear->sums.empty());
}

TEST_CASE("a row that divides by its sum counts its pairs") {
  const auto far = far_form(with(
      kDecay, kCausal, "normalize: {rows: {l: rowsum(score)}, weight: score, output: acc / l}\n"));
  REQUIRE(far.has_value());
  CHECK(far->sums == std::vector{FarSum::Score, FarSum::Number});
  const auto counts = far_form(
      with(kDecay, kCausal, "normalize: {rows: {n: rowsum(1)}, weight: score, output: acc / n}\n"));
  REQUIRE(counts.has_value());
  CHECK(sums_of_products(counts->sums) == 0);
}

// Of inputs weight and sink.
std::string text_of(const expr::Expr& e) { return e ? expr::print(e) : ""; }

TEST_CASE("beside absolute values scores are summed of each pair's product too") {
  const auto both = far_form(with(kDecay, kCausal,
                                  "normalize: {rows: {l: rowsum(abs(score)), s: rowsum(score)}, "
                                  "weight: score, output: acc / (1 + l) + s}\n"));
  REQUIRE(both.has_value());
  CHECK(sums_of_products(both->sums) == 2);
}

TEST_CASE("without absolute values a key's weight is what the key decides") {
  const auto far =
      far_form(with("score: score * exp2(weight[b, q_pos] - weight[b, kv_idx]) * sink[h] / (2 + "
                    "weight[b, kv_idx])\n",
                    kCausal, kLinear));
  REQUIRE(far.has_value());
  REQUIRE(far->key_weight.has_value());
  CHECK_FALSE(far->slope);
  CHECK(text_of(far->key_weight->exponent) == "-weight[b, kv_idx]");
  CHECK(text_of(far->key_weight->factor) == "1 / (2 + weight[b, kv_idx])");
  CHECK(text_of(far->key_weight->of_row) == "exp2(weight[b, q_pos] - 2 + $unit) * sink[h]");
}

TEST_CASE("a line along the keys is a part of it") {
  const auto far = far_form(
      with("score: score * exp2((q_pos - kv_idx) * sink[h]) * exp2(weight[b, kv_idx] / 4)\n",
           kCausal, kLinear));
  REQUIRE(far.has_value());
  REQUIRE(far->key_weight.has_value());
  CHECK(expr::mentions(far->key_weight->exponent, "kv_idx"));
  CHECK_FALSE(expr::mentions(far->key_weight->exponent, "q_pos"));
  CHECK_FALSE(expr::mentions(far->key_weight->of_row, "kv_idx"));
}

TEST_CASE("a factor of the key alone has a state, one of the pair has none") {
  const auto far = far_form(with("score: score * weight[b, kv_idx]\n", kCausal, kLinear));
  REQUIRE(far.has_value());
  CHECK_FALSE(far->key_weight->exponent);
  CHECK_FALSE(far_form(with("score: score * weight[b, q_pos - kv_idx]\n", kCausal, kLinear)));
  CHECK_FALSE(far_form(
      with("score: score * exp(weight[b, q_pos] * weight[b, kv_idx])\n", kCausal, kLinear)));
  CHECK_FALSE(far_form(with("score: score * exp(-weight[b, kv_idx])\n", kCausal, kRetention)));
}

TEST_CASE("of many terms or factors there is no state") {
  std::string lets = "let:\n  s0: weight[b, kv_idx] + sink[h]\n";
  for (int i = 1; i < 9; ++i) lets += fmt::format("  s{0}: s{1} + s{1}\n", i, i - 1);
  CHECK_FALSE(far_form(with(lets + "score: score * exp2(s8)\n", kCausal, kLinear)));
  std::string powers = "let:\n  s0: weight[b, kv_idx]\n";
  for (int i = 1; i < 9; ++i) powers += fmt::format("  s{0}: s{1} * s{1}\n", i, i - 1);
  CHECK_FALSE(far_form(with(powers + "score: score * s8\n", kCausal, kLinear)));
}

TEST_CASE("weights that fall along the keys have the key's weight, or may only by inputs") {
  const auto rises = far_form(
      with("score: score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))\n", kCausal, kRetention));
  REQUIRE(rises.has_value());
  CHECK_FALSE(rises->may_fall);
  const auto inputs = far_form(with(kDecay, kCausal, kRetention));
  REQUIRE(inputs.has_value());
  CHECK(inputs->may_fall);
  const char* const falling = "score: score * exp(-0.1 * kv_idx)\n";
  const auto falls = far_form(with(falling, kCausal, kLinear));
  REQUIRE(falls.has_value());
  CHECK_FALSE(falls->slope);
  CHECK(falls->key_weight.has_value());
  CHECK_FALSE(far_form(with(falling, kCausal, kRetention)));
}

TEST_CASE("linear attention without a decay") {
  const auto linear = far_form(with("score: score / 3\n", kCausal, kLinear));
  REQUIRE(linear.has_value());
  CHECK(linear->slope.is_number(0));
}

TEST_CASE("a decay may be a positive number to the power of the distance") {
  const auto far = far_form(with("score: score * pow(0.5, q_pos - kv_idx)\n", kCausal, kLinear));
  REQUIRE(far.has_value());
  CHECK(far->slope.is_number(1));
  CHECK_FALSE(
      far_form(with("score: score * pow(-0.5, q_pos - kv_idx)\n", kCausal, kLinear)).has_value());
  const auto of_head = [](const std::string& base) {
    return far_form(with("score: score * pow(" + base + ", q_pos - kv_idx)\n", kCausal, kLinear));
  };
  const auto known = of_head("1 - exp2(-5 - h)");
  REQUIRE(known.has_value());
  CHECK_FALSE(known->may_fall);
  CHECK_FALSE(of_head("1 - exp2(5 - h)").has_value());
  CHECK_FALSE(of_head("1 + abs(sink[h])").has_value());  // may be infinite
  CHECK_FALSE(of_head("sink[h]").has_value());
}

TEST_CASE("a factor of the row changes nothing, one of the key does") {
  CHECK(far_form(
      with("score: score / 3 * exp((q_pos - kv_idx) * sink[h]) * (h + 1)\n", kCausal, kRetention)));
  CHECK_FALSE(far_form(
      with("score: score * kv_idx * exp((q_pos - kv_idx) * sink[h])\n", kCausal, kRetention)));
}

TEST_CASE("the growth is the same for all queries") {
  CHECK_FALSE(far_form(with("score: score * exp(-kv_idx * sink[h] * q_pos)\n", kCausal, kLinear)));
  CHECK_FALSE(far_form(with("score: score * exp(-sqrt(q_pos - kv_idx))\n", kCausal, kLinear)));
}

TEST_CASE("weights that are no product have no state") {
  CHECK_FALSE(far_form(with(kDecay, kCausal, "normalize: softmax\n")));
  CHECK_FALSE(far_form(with(kDecay, kCausal, "normalize: {weight: relu(score)}\n")));
  CHECK_FALSE(far_form(with(kDecay, kCausal, "normalize: {weight: score * score}\n")));
  CHECK_FALSE(far_form(with("score: score + kv_idx\n", kCausal, kLinear)));
  CHECK_FALSE(far_form(
      with(kDecay, kCausal,
           "normalize: {rows: {l: rowsum(square(score))}, weight: score, output: acc / l}\n")));
}

TEST_CASE("rows see all keys from the first one on") {
  CHECK(far_form(with(kDecay, "mask: kv_idx <= q_pos or kv_idx < 100\n", kRetention)));
  CHECK_FALSE(
      far_form(with(kDecay, "mask: kv_idx <= q_pos and q_pos - kv_idx < 4096\n", kRetention)));
  CHECK_FALSE(far_form(with(kDecay, "mask: (q_pos - kv_idx) % 2 == 0\n", kRetention)));
}

TEST_CASE("a state may be larger than fp16 has numbers") {
  CHECK_FALSE(far_form(with(kDecay, kCausal, kRetention), spec::DType::Fp16));
}

TEST_CASE("only where a kernel is able to") {
  spec::Spec spec = spec_of(with(kDecay, kCausal, kRetention));
  const auto rows = derive_row_form(spec.normalize);
  CHECK_FALSE(pair_form(spec, std::get<RowForm>(rows), {}).far);
}

}  // namespace
}  // namespace attngen::attention
