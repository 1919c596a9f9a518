#include "attention/near_form.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attention/pair_form.h"
#include "expr/evaluate.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::spec_of;

double value_of(const NearCap& near, double product) {
  const double p = std::ldexp(product, -near.query_shift);
  return p * (near.linear + near.cubic * std::min(p * p, 1.0));
}

PairForm near_form_for(const std::string& lines, spec::DType dtype = spec::DType::Bf16) {
  spec::Spec spec = spec_of(lines);
  spec.scale = 0.125;
  spec.dtype = dtype;
  const auto rows = derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<RowForm>(rows));
  return pair_form(spec, std::get<RowForm>(rows), {.near = true});
}

TEST_CASE("a cap's cubic is right to 2^-8 as far as it says, and beyond it only rises") {
  for (double cap = 28; cap <= 1000; cap += cap < 120 ? 1 : 110) {
    for (const double scale : {0.0442, 0.125, 1.0}) {
      CAPTURE(cap);
      CAPTURE(scale);
      const double unit = cap * std::log2(std::exp(1.0)), factor = scale / cap;
      const auto near = near_cap(unit, factor);
      REQUIRE(near);
      CHECK(near->query_shift >= 0);
      CHECK(near->highest > kNearCapRoom + 5.7);
      double last = 0;
      for (double x = 0; x < 20; x += 0.01) {  // the tanh's argument
        const double value = value_of(*near, x / factor), exact = unit * std::tanh(x);
        CHECK(value >= last);
        CHECK(value_of(*near, -x / factor) == -value);
        if (exact <= near->highest) {
          CHECK(std::abs(value - exact) <= 1.0 / 256);
        } else {
          CHECK(value >= near->highest - 1.0 / 256);
        }
        last = value;
      }
    }
  }
}

TEST_CASE("a cap that scores of unit variance reach has no near form") {
  CHECK_FALSE(near_cap(14.4, 0.0125));
  CHECK_FALSE(near_cap(43.3, 1.0));  // its products would have to grow
}

TEST_CASE("a cap scales the queries, and with them all that reads the product") {
  const PairForm form = near_form_for("score: 30 * tanh(score / 30)\n");
  REQUIRE(form.near_cap);
  CHECK(form.near_cap->query_shift == 7);
  CHECK(expr::print(form.score) == "tanh($product * 0.5333333333333333)");
  CHECK_FALSE(near_form_for("score: 30 * tanh(score / 30)\n", spec::DType::Fp16).near_cap);
  CHECK_FALSE(near_form_for("score: 30 * tanh(score / 30) + chunk[b, kv_idx]\n").near_cap);
  CHECK_FALSE(near_form_for("score: 30 * tanh(score / -30)\n").near_cap);
  CHECK(near_form_for("score: 30 * tanh(score / 30) + sink[h]\n").near_cap);
}

TEST_CASE("a small sigmoid is a power less its square, right to 2^-10") {
  const PairForm form = near_form_for("normalize: {weight: sigmoid(score - 9)}\n");
  REQUIRE(form.near_logistic);
  const NearLogistic& near = *form.near_logistic;
  const auto power = [&](double product) {
    return std::exp2(expr::evaluate(
        near.exponent, [&](std::string_view) { return product; },
        [](std::string_view, std::span<const int64_t>) { return 0.0; }));
  };
  CHECK(form.weight_factor == near.factor);
  for (double product = -200; power(product) < near.highest; product += 0.25) {
    const double exact = 1 / (1 + std::exp(9 - 0.125 * product));
    const double p = power(product);
    CHECK(std::abs(near.factor * (p - p * p) - exact) <= exact / 1024);
  }
}

TEST_CASE("a sigmoid has a near form where its weights are small, by what the spec says") {
  const auto has = [](const std::string& lines) {
    return near_form_for("normalize: " + lines + "\n").near_logistic.has_value();
  };
  CHECK(has("{weight: \"sigmoid(score + sink[h])\"}"));
  CHECK(has("{weight: sigmoid(score - 8)}"));
  CHECK_FALSE(has("{weight: sigmoid(score)}"));
  CHECK_FALSE(has("{weight: sigmoid(score - 4)}"));
  // A sum of the weights reads them too.
  CHECK_FALSE(
      has("{rows: {l: rowsum(sigmoid(score - 8))}, weight: sigmoid(score - 8), "
          "output: acc / l}"));
  // The score may be the sigmoid.
  CHECK(near_form_for("score: sigmoid(score - 8)\nnormalize: none\n").near_logistic);
}

}  // namespace
}  // namespace attngen::attention
