#include "attention/pair_form.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string>

#include "support.h"

namespace attngen::attention {
namespace {

using testing::read_spec;
using testing::spec_of;

PairForm form_for(const std::string& lines, spec::DType dtype = spec::DType::Bf16,
                  PairAbilities abilities = {}) {
  spec::Spec spec = spec_of(lines);
  spec.scale = 0.5;
  spec.dtype = dtype;
  const auto rows = derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<RowForm>(rows));
  return pair_form(spec, std::get<RowForm>(rows), abilities);
}

std::string text(const expr::Expr& e) { return e ? expr::print(e) : "none"; }

TEST_CASE("a bias by distance is two multiply-adds") {
  const PairForm form =
      form_for("score: score + sink[h] * (kv_idx - q_pos)\nmask: kv_idx <= q_pos\n");
  CHECK(form.affine);
  CHECK(form.unit == 1);
  REQUIRE(form.constants.size() == 2);
  CHECK(text(form.constants[0].value) == "sink[h]");
  CHECK(text(form.constants[1].value) == "sink[h] * 1.4426950408889634");
  CHECK(text(form.score).find("$column * $c1 + $base") != std::string::npos);
  CHECK(text(form.base).find("kv_idx - q_pos") != std::string::npos);
  CHECK_FALSE(form.reads("kv_idx"));
}

TEST_CASE("a temperature is a factor of the row") {
  const PairForm form = form_for("score: score * sink[h] / 3\n");
  CHECK(form.affine);
  REQUIRE(form.constants.size() == 1);
  CHECK(text(form.score) == "$product * $c0 + $base");
  CHECK(form.base.is_number(0));
}

TEST_CASE("what a row's scores share is left out of softmax's, but where a sink stands beside") {
  const std::string score =
      "score: 2 * tanh(score) + chunk[b, kv_idx] - 3 * sink[h] - (q_pos - 1)\n";
  const PairForm form = form_for(score);
  CHECK_FALSE(form.affine);
  CHECK(text(form.score) == "2 * tanh($product * 0.5) + chunk[b, kv_idx]");
  REQUIRE(form.constants.size() == 1);
  CHECK(text(form.row_term) == "$c0");
  CHECK(text(form.constants[0].value) == "-(3 * sink[h]) - (q_pos - 1)");

  const std::string capped =
      "normalize:\n  rows: {m: \"max(rowmax(score), 0)\", l: "
      "rowsum(exp(score - m))}\n  weight: exp(score - m) / l\n";
  CHECK_FALSE(form_for(score + capped).row_term);
  CHECK_FALSE(form_for("score: score + sink[h] * (kv_idx - q_pos) - sink[h]\n").row_term);
  CHECK_FALSE(
      form_for(score + "normalize: {weight: relu(score), output: acc / seq_kv}\n").row_term);
}

TEST_CASE("a cap becomes the unit of the exponent") {
  const PairForm form = form_for("score: 30 * tanh(score / 30)\n");
  CHECK_FALSE(form.affine);
  CHECK(form.unit == doctest::Approx(30 * std::log2(std::exp(1.0))));
  CHECK(text(form.score) == "tanh($product * 0.016666666666666666)");
}

TEST_CASE("no factor that a float cannot hold is apart from its exponent") {
  const PairForm large = form_for("score: 3e38 * tanh(score)\n");
  CHECK(large.unit == 1);
  CHECK(text(large.score).find("tanh($product * 0.5)") != std::string::npos);
  CHECK(form_for("score: 1.2e-38 * tanh(score) / 10\n").unit == 1);
  CHECK(form_for("score: 3e38 * abs(2 * score)\n").unit == 1);
  const std::string weight = " * relu(score), output: acc / (q_pos + 1)}\n";
  CHECK(form_for("normalize: {weight: 1e37" + weight).weight_factor > 1e36);
  CHECK(form_for("normalize: {weight: 3e38" + weight).weight_factor == 1);
}

TEST_CASE("factors that come together stay what a float holds") {
  CHECK(text(form_for("score: 3e38 * tanh(score / 3e38)\n").score) ==
        "1.4426950408889634 * (3e+38 * tanh($product * 0.5 / 3e+38))");
  CHECK(text(form_for("score: 2 * tanh(score / 3e38)\n").score) == "tanh($product * 0.5 / 3e+38)");
  CHECK(text(form_for("score: tanh(score * 1e30 * 1e30)\n").score) ==
        "tanh($product * 5e+29 * 1e+30)");
  // Powers along the keys; a product that is scaled and taken back.
  const PairForm decay = form_for("score: tanh(score * exp2(kv_idx * 1e-30 * 1e-30))\n");
  REQUIRE(decay.lines.size() == 1);
  CHECK(text(decay.score) == "tanh($product * exp2(($column * 1e-30 + $l0) * 1e-30 - 1))");
  CHECK(text(form_for("score: tanh(score * 1e-30 * 1e30)\n").score) == "tanh($product * 0.5)");
}

TEST_CASE("a decay is a power of two of what grows evenly along the keys") {
  const PairForm form = form_for(
      "score: score * exp((q_pos - kv_idx) * log(1 - exp2(-5 - h)))\nmask: kv_idx <= q_pos\n"
      "normalize: {rows: {l: \"max(rowsum(abs(score)), 1)\"}, weight: score, output: acc / l}\n");
  REQUIRE(form.lines.size() == 1);
  CHECK(text(form.score).find("exp2($column * ") != std::string::npos);
  CHECK(text(form.score).find("log") == std::string::npos);
  CHECK(text(form.weight) == "score");
}

TEST_CASE("a sigmoid reads the product, its bias beside") {
  const PairForm form = form_for("normalize: {weight: \"sigmoid(score + sink[h])\"}\n");
  CHECK(text(form.score) == "none");
  const expr::Expr exponent = logistic_exponent(form.weight);
  REQUIRE(exponent);
  CHECK(text(exponent).find("$product * -0.7213") == 0);
  CHECK(form.constants.size() == 1);
}

TEST_CASE("no other sum with a power is taken for a sigmoid's") {
  const auto exponent_of = [](double factor, double constant) {
    const expr::Expr power = expr::make(expr::Op::Exp2, {expr::variable("x", expr::Type::Float)});
    const expr::Expr scaled =
        factor == 1 ? power : expr::make(expr::Op::Multiply, {power, expr::number(factor)});
    const expr::Expr sum = expr::make(expr::Op::Add, {scaled, expr::number(constant)});
    return text(logistic_exponent(expr::make(expr::Op::Divide, {expr::number(1), sum})));
  };
  CHECK(exponent_of(1, 1) == "x");
  CHECK(exponent_of(3, 3) == "x");
  CHECK(exponent_of(1, 3) == "none");
  CHECK(exponent_of(3, 2) == "none");
}

TEST_CASE("a number times a power goes into the power") {
  const auto weight = [](const std::string& score) {
    return text(form_for("normalize: none\nscore: " + score + "\n").weight);
  };
  CHECK(weight("8 * exp2(score)") == "exp2($product * 0.5 + 3)");
  CHECK(weight("score * exp2(score) * 4") == "$product * exp2($product * 0.5 + 1)");
  CHECK(weight("-8 * exp2(score)") == "-8 * exp2($product * 0.5)");
  CHECK(weight("0 * exp2(score)") == "0.0");
  CHECK(weight("score * 0.5 * abs(score)").find("exp2") == std::string::npos);
}

TEST_CASE("a factor of the weights is left to the output, but not in fp16") {
  const char* lines = "normalize: {weight: square(relu(score)), output: acc / (q_pos + 1)}\n";
  const PairForm form = form_for(lines);
  CHECK(form.weight_factor == 0.25);
  CHECK(text(form.weight) == "square(relu($product))");
  CHECK(form_for(lines, spec::DType::Fp16).weight_factor == 1);
  // Only one above 0 commutes with a relu.
  CHECK(form_for("normalize: {weight: relu(tanh(score) / -3), output: acc / (q_pos + 1)}\n")
            .weight_factor == 1);
}

TEST_CASE("a relu is left to the rounding of weights, unless a sum reads them too") {
  const auto form_of = [](const std::string& lines) {
    return form_for("normalize: " + lines + "\n", spec::DType::Bf16,
                    {.rounds_positive_part = true});
  };
  for (const char* const lines :
       {"{weight: relu(score), output: acc / (q_pos + 1)}", "{weight: relu(score)}"}) {
    const PairForm form = form_of(lines);
    CHECK(form.positive_part);
    CHECK(text(form.weight) == "$product");
    CHECK(form.weight_factor == 0.5);
  }
  CHECK(text(form_of("{weight: \"relu(score + sink[h])\"}").weight).find("$product * 0.5") == 0);
  CHECK_FALSE(form_of("{weight: square(relu(score))}").positive_part);
  CHECK_FALSE(form_of("{rows: {l: rowsum(relu(score))}, weight: relu(score), output: acc / l}")
                  .positive_part);
  CHECK(form_of("{rows: {l: rowsum(abs(score))}, weight: relu(score), output: acc / l}")
            .positive_part);
  // The relu of what is no number is 0.
  CHECK_FALSE(form_of("{weight: relu(log(score))}").positive_part);
  CHECK_FALSE(form_of("{weight: relu(score * exp(score))}").positive_part);
  CHECK_FALSE(form_for("normalize: {weight: relu(score)}\n").positive_part);
}

TEST_CASE("a score of a multiply-add is made where it is read, and a multiple in two passes too") {
  const auto score_of = [](const std::string& score, const std::string& lines) {
    return text(form_for("score: " + score + "\nnormalize: " + lines + "\n").score);
  };
  const char* const sum = "{rows: {l: rowsum(abs(score))}, weight: score, output: acc / l}";
  const char* const max = "{rows: {m: rowmax(score)}, weight: relu(exp(score - m) - exp(-m))}";
  CHECK(score_of("3 * score + sink[h]", sum) == "none");
  CHECK(score_of("3 * score + sink[h]", max) == "$product * 1.5 + $c0");
  CHECK(score_of("3 * score", max) == "none");
}

TEST_CASE("a row's value in an exponent leaves a pair one multiply-add") {
  const auto form_of = [](const std::string& lines) {
    return form_for(lines, spec::DType::Bf16, {.rounds_positive_part = true});
  };
  // A factor of scores that add up is their sum's.
  const PairForm entropy = form_of(
      "normalize:\n  rows: {m: rowmax(score), l: rowsum(exp(score - m)), e: rowsum(score * "
      "exp(score - m))}\n  weight: exp(score - m)\n  output: acc / l\n  save: {e: e / l}\n");
  CHECK(text(entropy.score) == "none");
  const std::string power = "exp2($product * 0.7213475204444817 - m * 1.4426950408889634)";
  CHECK(text(entropy.weight) == power);
  REQUIRE(entropy.elements.size() == 3);
  CHECK(text(entropy.elements[0].value) == "$product");
  CHECK(entropy.elements[0].factor == 0.5);
  CHECK(text(entropy.elements[1].value) == power);
  CHECK(text(entropy.elements[2].value) == "$product * " + power);
  CHECK(entropy.elements[2].factor == 0.5);
  // Weights are packed without a sum's negative ones.
  const PairForm softpick = form_of(
      "normalize:\n  rows: {m: \"max(rowmax(score), 0)\", l: rowsum(abs(exp(score - m) - "
      "exp(-m)))}\n  weight: relu(exp(score - m) - exp(-m))\n  output: acc / l\n");
  CHECK(softpick.positive_part);
  CHECK(text(softpick.weight) == power + " - exp2(-1.4426950408889634 * m)");
  // A score that is kept, and other terms.
  const PairForm kept = form_of(
      "score: tanh(score)\nnormalize:\n  rows: {m: rowmax(score)}\n"
      "  weight: exp(2 * (score - m + sink[h]) - score / 4)\n");
  CHECK(text(kept.score) == "tanh($product * 0.5)");
  CHECK(text(kept.weight) ==
        "exp2(score * 2.8853900817779268 - score * 0.36067376022224085 - (m - $c0) * "
        "2.8853900817779268)");
  // What may be large is subtracted first, lest its rounding count.
  const PairForm large = form_of(
      "score: score * 1e7\nnormalize:\n  rows: {m: rowmax(score)}\n"
      "  weight: exp(score - m) * score\n");
  CHECK(text(large.score) == "$product * 5000000");
  CHECK(text(large.weight) == "exp2((score - m) * 1.4426950408889634) * score");
  for (const char* const weight : {"exp(1e3 * (score - m)) * tanh(score)",
                                   "exp(score + bias[b, h, q_idx, kv_idx] - m) * tanh(score)",
                                   "exp(score - 0.5 * kv_idx - m) * tanh(score)"}) {
    const PairForm form =
        form_of(std::string("normalize:\n  rows: {m: rowmax(score)}\n  weight: ") + weight + "\n");
    CHECK(text(form.score) == "$product * 0.5");
    CHECK(text(form.weight).find("- m") != std::string::npos);
    CHECK(text(form.weight).find("m * 1.44") == std::string::npos);
  }
}

TEST_CASE("an input with an element for each pair comes by tiles") {
  const auto form_of = [](const std::string& lines) {
    return form_for(lines, spec::DType::Bf16, {.bias = true});
  };
  const char* const softmax = "score: score + bias[b, h, q_idx, kv_idx]\n";
  const PairForm form = form_of(softmax);
  REQUIRE(form.bias);
  CHECK(form.bias->input.name == "bias");
  CHECK(text(form.score) == "$product * 0.5 + $bias");
  CHECK_FALSE(form_for(softmax).bias);
  CHECK(text(form_for(softmax).score) == "$product * 0.5 + bias[b, h, q_idx, kv_idx]");
  // Wherever it is read, and however often.
  const PairForm sigmoid =
      form_of("normalize: {weight: \"sigmoid(score + bias[b, h, q_idx, kv_idx])\"}\n");
  CHECK(text(logistic_exponent(sigmoid.weight)).find("$bias") != std::string::npos);
  CHECK(
      text(form_of("score: score * bias[b, h, q_idx, kv_idx] + bias[b, h, q_idx, kv_idx]\n").score)
          .find('[') == std::string::npos);
  // Of any matrix that a tile's pairs share.
  for (const char* const matrix : {"b // 4, h", "b, h_kv + 1", "int(sink[h]), (b + seq_q) % 3"}) {
    const PairForm shared =
        form_of(fmt::format("score: score + bias[{}, q_idx, kv_idx]\n", matrix));
    REQUIRE(shared.bias);
    CHECK(text(shared.score) == "$product * 0.5 + $bias");
  }
  CHECK_FALSE(form_of("score: score + bias[b, q_idx % 2, q_idx, kv_idx]\n").bias);
  CHECK_FALSE(form_of("score: score + bias[b, int(score), q_idx, kv_idx]\n").bias);
  CHECK_FALSE(form_of("maps: 2\nscore: score + bias[b, map, q_idx, kv_idx]\n").bias);
  // Not where the elements of a tile are no rectangle, nor of whole numbers.
  CHECK_FALSE(form_of("score: score + bias[b, h, 0, kv_idx]\n").bias);
  CHECK_FALSE(form_of("score: score + pair[q_idx, kv_idx]\n").bias);
  CHECK(text(form_of("score: score + keep[q_idx, kv_idx]\n").score).find("$byte") !=
        std::string::npos);
  CHECK_FALSE(form.bias->shift);

  // A mask may be bytes, and behind the last key the tile has zeros.
  const PairForm masked = form_of("mask: kv_idx <= q_pos and keep[q_idx, kv_idx] > 0\n");
  REQUIRE(masked.bias);
  CHECK(masked.bias->of_mask);
  CHECK(text(masked.mask) == "kv_idx <= q_pos and $byte > 0");
  CHECK(masked.mask_reads_bias());
  CHECK_FALSE(masked.scores_read_bias());
  CHECK_FALSE(masked.mask_loads());
  CHECK(masked.zero_is_masked());
  for (const char* const mask :
       {"keep[q_idx, kv_idx] < 2", "keep[q_idx, kv_idx] > 0 or kv_idx == 3",
        "bias[b, h, q_idx, kv_idx] > 0", "keep[q_idx, kv_idx] > 0 and keep[0, kv_idx] > 0"}) {
    CAPTURE(mask);
    const PairForm other = form_of(std::string("mask: ") + mask + "\n");
    CHECK(other.mask_reads_bias());
    CHECK_FALSE(other.zero_is_masked());
  }
  // Scores come first.
  const PairForm both =
      form_of("score: score + bias[b, h, q_idx, kv_idx]\nmask: keep[q_idx, kv_idx] > 0\n");
  CHECK(both.bias->input.name == "bias");
  CHECK(both.scores_read_bias());
  CHECK_FALSE(both.mask_reads_bias());
  // A mask that is asked beforehand comes as bits, and its bytes do not.
  const PairForm asked = form_for("mask: keep[q_idx, kv_idx] > 0\n", spec::DType::Bf16,
                                  {.bias = true, .mask_bits = true});
  CHECK(asked.mask_bits);
  CHECK_FALSE(asked.bias);
}

TEST_CASE("elements along the keys stand behind an address") {
  const auto form_of = [](const std::string& lines) {
    return form_for(lines, spec::DType::Bf16, {.key_rows = true});
  };
  const char* const twice = "score: score * page[b, kv_idx] + page[b, kv_idx] / 2\n";
  const PairForm form = form_of(twice);
  REQUIRE(form.key_rows.size() == 1);
  CHECK(text(form.key_rows[0].load) == "page[b, kv_idx]");
  CHECK(text(form.score).find("page.k0[kv_idx]") != std::string::npos);
  CHECK(form.has_lines());
  CHECK(form_for(twice).key_rows.empty());
  // Not of other elements than each key's own.
  CHECK(form_of("score: score + page[b, kv_idx + 1]\n").key_rows.empty());
  CHECK(form_of("score: score + page[kv_idx % 2, kv_idx]\n").key_rows.empty());
  CHECK(form_of("score: score + sink[h]\n").key_rows.empty());
  // Nor of a dimension that may be shorter than the keys are many.
  CHECK(form_of("score: score + pair[q_idx, kv_idx]\n").key_rows.size() == 1);
  const spec::Spec table = testing::read_spec(testing::text_with_inputs(
      "  table: {dtype: f32, shape: [32]}\nscore: score + table[kv_idx]\n"));
  const auto rows = derive_row_form(table.normalize);
  REQUIRE(std::holds_alternative<RowForm>(rows));
  CHECK(pair_form(table, std::get<RowForm>(rows), {.key_rows = true}).key_rows.empty());
  // Nor of a row that differs from pair to pair.
  CHECK(form_of("score: score + page[int(score), kv_idx]\n").key_rows.empty());
  CHECK(form_of("score: tanh(score)\n"
                "normalize: {weight: \"square(score) * page[int(score), kv_idx]\"}\n")
            .key_rows.empty());
}

TEST_CASE("nothing grows along the keys of a list, which stand in any order") {
  const PairAbilities all{.level = true,
                          .bias = true,
                          .mask_bits = true,
                          .key_rows = true,
                          .places = true,
                          .row_tables = true,
                          .strips = Shared::All};
  const char* const twice = "score: score + sink[h] * (kv_idx - q_pos) + page[b, kv_idx]\n";
  const PairForm in_line = form_for(twice, spec::DType::Bf16, all);
  CHECK(in_line.has_lines());
  spec::Spec spec = spec_of(twice);
  spec.scale = 0.5;
  spec.token_count = 100;
  const auto rows = derive_row_form(spec.normalize);
  const PairForm listed = pair_form(spec, std::get<RowForm>(rows), all);
  CHECK_FALSE(listed.has_lines());
  CHECK_FALSE(listed.has_value_strips());
  CHECK_FALSE(listed.affine);
  CHECK(listed.listed_keys);
  CHECK_FALSE(in_line.listed_keys);
  // An input with an element for each pair comes by tiles, but for those.
  spec::Spec biased = read_spec(testing::text_with_inputs(
      "  bias: {dtype: f32, shape: [seq_q, seq_kv]}\nscore: score + bias[q_idx, kv_idx]\n"));
  CHECK(pair_form(biased, std::get<RowForm>(rows), all).bias);
  biased.token_count = 100;
  CHECK_FALSE(pair_form(biased, std::get<RowForm>(rows), all).bias);
  // Of the distance alone, what a row has of it is still left out of a softmax's score.
  spec::Spec distance = spec_of("score: score + sink[h] * (kv_idx - q_pos)\n");
  distance.token_count = 100;
  const PairForm form = pair_form(distance, std::get<RowForm>(rows), all);
  CHECK_FALSE(form.affine);
  CHECK(text(form.score).find("kv_idx") != std::string::npos);
  distance.score = spec_of("score: score + sink[h] * q_pos\n").score;
  CHECK_FALSE(pair_form(distance, std::get<RowForm>(rows), all).listed_keys);
}

TEST_CASE("a mask knows no lines, which begin at a key that exists") {
  const PairForm form = form_for("mask: 0.75 * kv_idx <= q_pos + 3 * sink[h]\n");
  CHECK(form.lines.empty());
  CHECK(text(form.mask) == "0.75 * kv_idx <= $c0");
}

TEST_CASE("a mask whose rows' keys are searched leaves nothing to compute for a row") {
  const char* const documents = "mask: doc_id[b, q_pos] == doc_id[b, kv_idx]\n";
  CHECK(form_for(documents).constants.size() == 1);
  CHECK(form_for(documents, spec::DType::Bf16, {.row_keys = true}).constants.empty());
  // Nor are any searched but of a plain exponential.
  CHECK(form_for(std::string(documents) + "normalize: {weight: sigmoid(score)}\n",
                 spec::DType::Bf16, {.row_keys = true})
            .constants.size() == 1);
}

TEST_CASE("a whole number that the score decides is no constant") {
  CHECK(text(form_for("score: score * (2 if score > 0 else 1)\n").score) ==
        "$product * (2 if $product * 0.5 > 0 else 1)");
  CHECK(text(form_for("score: score + int(score)\n").score) ==
        "$product * 0.5 + int($product * 0.5)");
  CHECK(text(form_for("normalize: {weight: score * (kv_idx + int(score))}\n").weight) ==
        "$product * (kv_idx + int($product * 0.5))");
  // Nor is one that an input decides which comes by tiles.
  const PairForm biased = form_for("score: score * (2 if bias[b, h, q_idx, kv_idx] > 0 else 1)\n",
                                   spec::DType::Bf16, {.bias = true});
  CHECK(text(biased.score) == "$product * (2 if $bias > 0 else 1)");
  CHECK(biased.unit == 0.5 * std::numbers::log2e);
}

TEST_CASE("a pair is not divided by what its row has in common") {
  const auto form = [](const std::string& weight) {
    return form_for("normalize: {weight: \"" + weight + "\", output: acc}\n");
  };
  const PairForm gamma = form("exp(score) / sink[h]");
  REQUIRE(gamma.constants.size() == 1);
  CHECK(text(gamma.constants[0].value) == "1 / sink[h]");
  CHECK(text(gamma.weight).find(" / ") == std::string::npos);
  // Its other factors that stay along the row go with it, so that a logarithm is left alone.
  const PairForm fire = form("relu(3 * sink[h] * log(1 + kv_idx) / log(2 + q_pos))");
  REQUIRE(fire.constants.size() == 1);
  CHECK(text(fire.constants[0].value) == "3 * sink[h] / log(2 + q_pos)");
  // Of a step the last bit of the quotient decides.
  CHECK(text(form("exp(score) * floor(sqrt(kv_idx) / sink[h])").weight).find(" / ") !=
        std::string::npos);
  // A quotient of numbers that pairs have is one.
  CHECK(text(form("exp(score) / (1 + kv_idx)").weight).find(" / ") != std::string::npos);
  // A score is simplified once more, as an exponent.
  const PairForm reciprocal = form_for("score: score + weight[b, kv_idx] / sink[h]\n");
  CHECK(text(reciprocal.score) == "$product * 0.5 + weight[b, kv_idx] * $c0");
  CHECK(text(reciprocal.constants.back().value) == "1 / sink[h]");
}

TEST_CASE("nothing is taken out of what makes a step") {
  const PairForm form = form_for(
      "score: score + int(kv_idx / 121) + (5 if kv_idx / 3 >= q_pos / 7 else sink[h] / 3)\n");
  CHECK(text(form.score).find("int(kv_idx / 121)") != std::string::npos);
  CHECK(text(form.score).find("kv_idx / 3 >= q_pos / 7") != std::string::npos);
  REQUIRE(form.constants.size() == 1);
  CHECK(text(form.constants[0].value) == "sink[h] / 3");
  // But functions that would be computed alike, as those of a table of distances by a row's own.
  const PairForm table = form_for("score: score + int(log(1 + kv_idx) / log(q_pos + 2))\n");
  CHECK(text(table.score).find("int(log(1 + kv_idx) / $c0)") != std::string::npos);
  REQUIRE(table.constants.size() == 1);
  CHECK(text(table.constants[0].value) == "log(q_pos + 2)");
  CHECK(form_for("score: score + int(log(1 + kv_idx) / log(q_pos / 3))\n").constants.empty());
  // Steps of whole numbers, and of scores, are as exact in parts.
  CHECK(form_for("score: score + (1 if kv_idx >= q_pos * 3 % 7 else 0)\n").constants.size() == 1);
  CHECK(form_for("score: 1 if score > sink[h] / 3 else 0\n").constants.size() == 1);
}

TEST_CASE("an affine score reads no inputs: its slopes have registers however many there are") {
  const auto inputs_of = [](const PairForm& form) {
    CHECK(form.affine);
    return expr::inputs_of(form.score).size();
  };
  CHECK(inputs_of(form_for("mask: sqrt(kv_idx) < sink[h] or sqrt(kv_idx) < page[b, q_pos] or "
                           "sqrt(kv_idx) < chunk[b, q_pos] or sqrt(kv_idx) < span[b, q_pos] or "
                           "sqrt(kv_idx) < prefix[b] or sqrt(kv_idx) < level[b]\n"
                           "score: score * square(sink[h]) + exp(sink[h]) * kv_idx\n")) == 0);
  // Nor one that is at hand elsewhere: the logarithm's base may be all that it is scaled by.
  spec::Spec spec = read_spec(
      "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 4, kv: 4}\nhead_dim: {qk: 16, v: 8}\n"
      "scale: 0.6931471805599453\ninputs: {tau: {dtype: f32, shape: []}}\nscore: score * tau\n");
  const auto rows = derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<RowForm>(rows));
  CHECK(inputs_of(pair_form(spec, std::get<RowForm>(rows))) == 0);
}

TEST_CASE("keys that cancel are in no constant") {
  const PairForm form = form_for("score: score + (kv_idx * 2 - (kv_idx + (kv_idx - q_pos)))\n");
  REQUIRE(form.constants.size() == 1);
  CHECK(text(form.constants[0].value) == "1.4426950408889634 * q_pos");
}

TEST_CASE("an address is no strip: it is its row's") {
  const PairForm form = form_for("score: max(score, pair[q_idx, kv_idx])\nnormalize: none\n",
                                 spec::DType::Bf16, {.key_rows = true, .strips = Shared::All});
  CHECK(form.of_key.empty());
  CHECK(text(form.weight) == "max($product * 0.5, pair.k0[kv_idx])");
}

TEST_CASE("what may be wrong when taken out stays") {
  // Not evenly along the keys, not affine, or of a running row value.
  CHECK_FALSE(form_for("score: score * (kv_idx - q_pos)\n").affine);
  CHECK_FALSE(form_for("score: score + kv_idx // 2\n").affine);
  CHECK_FALSE(form_for("score: score + abs(score)\n").affine);
  CHECK(form_for("score: score + kv_idx // 2\n").reads("kv_idx"));
}

}  // namespace
}  // namespace attngen::attention
