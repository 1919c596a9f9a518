#include "attention/row_form.h"

#include <fmt/format.h>

#include "attention/separate.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::form_of;
using testing::print;
using testing::spec_of;

std::string weight_of(const RowForm& form) {
  return expr::print(form.weight) + " * " + expr::print(form.rescale);
}

TEST_CASE("softmax rescales by exp(old_m - m)") {
  const auto derived = derive_row_form(spec_of("normalize: softmax\n").normalize);
  REQUIRE(std::holds_alternative<RowForm>(derived));
  const auto& form = std::get<RowForm>(derived);
  REQUIRE(form.reductions.size() == 2);
  CHECK(print(form.reductions[0]) == "max_score = max(score) * 1.0 !");
  CHECK(print(form.reductions[1]) == "sum_exp = sum(exp(score - m)) * exp(old_m - m)");
  REQUIRE(form.rows.size() == 2);
  CHECK(print(form.rows[0]) == "m = max_score !");
  CHECK(print(form.rows[1]) == "l = sum_exp");
  CHECK(weight_of(form) == "exp(score - m) * exp(old_m - m)");
  CHECK(expr::print(form.output) == "acc / l");
  REQUIRE(form.saves.size() == 1);
  CHECK(form.saves[0].name == "lse");
  CHECK(form.exponential);
  CHECK(form.max_row == "m");
  CHECK(form.max_reduction == "max_score");
  CHECK(form.empty == EmptyTest::Max);
  CHECK(form.empty_reduction == "max_score");
  CHECK(form.empty_sum.empty());
  CHECK_FALSE(form.row_free());
}

TEST_CASE("no normalisation reads no row") {
  const auto derived = derive_row_form(spec_of("normalize: none\n").normalize);
  REQUIRE(std::holds_alternative<RowForm>(derived));
  const auto& form = std::get<RowForm>(derived);
  CHECK(form.reductions.empty());
  CHECK(form.row_free());
  CHECK(form.empty == EmptyTest::None);
  CHECK_FALSE(form.exponential);
}

TEST_CASE("softmax without its sum is no form that kernels know") {
  const RowForm form =
      form_of("  rows: {m: rowmax(score)}\n  weight: exp(score - m)\n  output: acc\n");
  CHECK_FALSE(form.exponential);
}

TEST_CASE("the greatest of something else is not softmax's maximum") {
  const RowForm form = form_of(R"(
  rows: {c: 'sink[h]', m: rowmax(c), l: rowsum(exp(score - m))}
  weight: exp(score - m)
  output: acc / l
)");
  CHECK_FALSE(form.exponential);
}

TEST_CASE("sinks: a row without pairs is empty, since a sink may be -inf") {
  const RowForm form = form_of(R"(
  rows:
    m: max(rowmax(score), sink[h])
    l: rowsum(exp(score - m)) + exp(sink[h] - m)
  weight: exp(score - m)
  output: acc / l
)");
  CHECK(form.exponential);
  CHECK(print(form.rows[0]) == "m = max(max_score, sink[h]) !");
  CHECK(print(form.rows[1]) == "l = sum_exp + exp(sink[h] - m)");
  CHECK(form.empty == EmptyTest::Max);
  CHECK(form.empty_sum == "sum_exp");  // a block may be weighed against the sink alone
}

TEST_CASE("softmax plus one") {
  const RowForm form = form_of(R"(
  rows: {m: 'max(rowmax(score), 0)', l: rowsum(exp(score - m)) + exp(-m)}
  weight: exp(score - m)
  output: acc / l
)");
  CHECK(form.exponential);
  CHECK(form.max_row == "m");
  CHECK(form.empty == EmptyTest::None);  // l is 1 in an empty row
}

TEST_CASE("a divisor in the weight waits for the output") {
  const RowForm form = form_of(R"(
  rows: {m: rowmax(score), l: rowsum(exp(score - m))}
  weight: exp(score - m) / l
  output: acc
)");
  CHECK(weight_of(form) == "exp(score - m) * exp(old_m - m)");
  CHECK(expr::print(form.output) == "acc / l");
  CHECK(form.exponential);
  CHECK(form.empty == EmptyTest::Max);
}

TEST_CASE("softpick") {
  const RowForm form = form_of(R"(
  rows: {m: rowmax(score), l: rowsum(abs(exp(score - m) - exp(-m)))}
  weight: relu(exp(score - m) - exp(-m))
  output: acc / (l + 0.000001)
)");
  REQUIRE(form.reductions.size() == 2);
  CHECK(print(form.reductions[1]) ==
        "sum_abs = sum(abs(exp(score - m) - exp(-m))) * exp(old_m - m)");
  CHECK(weight_of(form) == "relu(exp(score - m) - exp(-m)) * exp(old_m - m)");
  CHECK_FALSE(form.exponential);
  CHECK(form.empty == EmptyTest::None);  // 0 / (0 + 1e-6)
}

TEST_CASE("retention divides by the sum of what it weighs, and rescales nothing") {
  const RowForm form = form_of(R"(
  rows: {n: 'max(abs(rowsum(score)), 1)'}
  weight: score / n
  output: acc
)");
  CHECK(form.row_free());
  CHECK(print(form.reductions[0]) == "sum_score = sum(score) * 1.0");
  CHECK(print(form.rows[0]) == "n = max(abs(sum_score), 1)");
  CHECK(expr::print(form.weight) == "score");
  CHECK(expr::print(form.output) == "acc / n");
  CHECK(form.empty == EmptyTest::None);
}

TEST_CASE("polynomial weights need a count to know an empty row") {
  const RowForm form = form_of(R"(
  rows: {l: rowsum(square(score))}
  weight: square(score)
  output: acc / l
)");
  CHECK(form.row_free());
  CHECK(form.empty == EmptyTest::Count);
  REQUIRE(form.reductions.size() == 2);
  CHECK(form.empty_reduction == form.reductions[1].name);
  CHECK(print(form.reductions[1]) == "sum_pairs = sum(1.0) * 1.0");
}

TEST_CASE("what kernels round to 0 keeps no divisor from it") {
  const auto empty = [](const std::string& divisor) {
    return form_of("  rows: {l: rowsum(relu(score))}\n  weight: relu(score)\n  output: acc / (" +
                   divisor + ")\n")
        .empty;
  };
  CHECK(empty("l + 1e-30") == EmptyTest::None);
  CHECK(empty("l + 1e-30 * exp(l - 50)") == EmptyTest::Count);
  CHECK(empty("max(l, 1e-37 * exp(l - 5))") == EmptyTest::Count);
}

TEST_CASE("a finite factor keeps 0 what is 0") {
  const auto empty = [](const std::string& output) {
    return form_of("  weight: relu(score)\n  output: " + output + "\n").empty;
  };
  CHECK(empty("acc * sink[h]") == EmptyTest::None);
  CHECK(empty("acc * (sink[h] * sink[h])") == EmptyTest::Count);  // may be infinite
  CHECK(empty("acc * sink[h] * sink[h]") == EmptyTest::Count);    // scaled by the product
  CHECK(empty("acc * 1e20 * 1e-20") == EmptyTest::None);
  CHECK(empty("acc / 1e-30 * 1e10") == EmptyTest::Count);
}

TEST_CASE("equal reductions are one") {
  const RowForm form = form_of(R"(
  rows:
    m: rowmax(score)
    l: rowsum(exp(score - m)) + 0 * rowmax(score)
    twice: rowsum(exp(score - m)) * 2
  weight: exp(score - m)
  output: acc / l
)");
  CHECK(form.reductions.size() == 2);
}

TEST_CASE("names avoid rows") {
  const RowForm form = form_of(R"(
  rows: {max_score: rowmax(score), sum_exp: rowsum(exp(score - max_score))}
  weight: exp(score - max_score)
  output: acc / sum_exp
)");
  CHECK(form.reductions[0].name == "max_score_2");
  CHECK(form.reductions[1].name == "sum_exp_2");
  CHECK(expr::print(form.rescale) == "exp(old_max_score - max_score)");
}

TEST_CASE("what a factor commutes with") {
  const auto rescale = [](const std::string& weight) {
    const RowForm form =
        form_of("  rows: {m: rowmax(score), l: rowsum(abs(score))}\n  weight: " + weight +
                "\n  output: acc\n");
    return expr::print(form.weight) + " | " + expr::print(form.rescale) + " | " +
           expr::print(form.output);
  };
  CHECK(rescale("exp2(score - m)") == "exp2(score - m) | exp2(old_m - m) | acc");
  CHECK(rescale("square(exp(score - m))") ==
        "square(exp(score - m)) | exp(old_m * 2 - m * 2) | acc");
  CHECK(rescale("exp((score - m) * sink[h])") ==
        "exp((score - m) * sink[h]) | exp(old_m * sink[h] - m * sink[h]) | acc");
  CHECK(rescale("exp(score - m) if score > 0 else 0") ==
        "exp(score - m) if score > 0 else 0 | exp(old_m - m) | acc");
  CHECK(rescale("exp(max(score, 0) - m) * (score + 1)") ==
        "exp(max(score, 0) - m) * (score + 1) | exp(old_m - m) | acc");
  CHECK(rescale("square(score / l)") == "square(score) | 1.0 | acc * square(1 / l)");
  CHECK(rescale("exp(score - m) / l + square(score) * exp(-m) / l") ==
        "exp(score - m) + square(score) * exp(-m) | exp(old_m - m) | acc / l");
}

TEST_CASE("the sign of a long sum is soon known") {
  const RowNames names{[](const std::string&) { return false; },
                       [](const std::string&) { return false; }};
  std::string sum = "score";
  for (int i = 0; i < 150; ++i) sum += " + 1.5";
  CHECK_FALSE(is_positive(spec_of("score: " + sum + "\n").score, names));
  CHECK(is_positive(spec_of("score: exp(score) + abs(score)\n").score, names));
  CHECK(is_positive(spec_of("score: 0 + sigmoid(score)\n").score, names));
  CHECK_FALSE(is_positive(spec_of("score: abs(score) + 1e-3 * score\n").score, names));
}

struct Expected {
  std::string pointer, marked, message, help;
};

// The refusal of a normaliser whose rows, of one letter, are all read, its span resolved in `text`.
Expected refusal_of(const std::string& rows, const std::string& weight, const std::string& text) {
  std::string saves;
  for (const std::string row : {"m", "l", "n", "e"}) {
    if (rows.find(row + ": ") != std::string::npos) saves += fmt::format("{0}: {0}, ", row);
  }
  const spec::Spec spec = spec_of("normalize:\n  rows: {" + rows + "}\n  weight: " + weight +
                                  "\n  output: acc\n  save: {" + saves + "}\n");
  const auto derived = derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<Refusal>(derived));
  const auto& refusal = std::get<Refusal>(derived);
  const expr::Span span = refusal.error.span;
  return {refusal.pointer, text.substr(span.begin, span.end - span.begin), refusal.error.message,
          refusal.error.help};
}

TEST_CASE("weights without an online form are refused at the blocking part") {
  for (const char* weight :
       {"sigmoid(score - l)", "tanh(score * l)", "relu(score - l)", "exp(score * l)", "score + l",
        "score if score > l else 0", "cos(score - l)", "max(score, l)", "max(score * l, 0)",
        "min(exp(score - l), exp(-2 * l))", "exp(max(score - l, -score))", "sqrt(score * l)",
        "exp(score - l if l > 1 else -inf)", "pow(exp(score - l), score)", "relu(score * l)",
        "pow(score * l, 0.5)"}) {
    CAPTURE(weight);
    const Expected refusal = refusal_of("l: rowsum(abs(score))", weight, weight);
    CHECK(refusal.pointer == "/normalize/weight");
    CHECK(refusal.message ==
          "weight has no online form: the factor by which earlier sums rescale would depend on "
          "'score'");
  }
  CHECK(refusal_of("l: rowsum(abs(score))", "2 * sigmoid(score - l)", "2 * sigmoid(score - l)")
            .marked == "sigmoid(score - l)");
}

TEST_CASE("help says whether a sum or a product is wanted") {
  const auto help = [](const std::string& weight) {
    return refusal_of("l: rowsum(abs(score))", weight, weight).help;
  };
  CHECK(help("sigmoid(score - l)") ==
        "'sigmoid(score - l)' must come apart into a part that reads 'score' times a part that "
        "reads 'l', as exp(score - l) does");
  for (const char* exponent : {"score / l", "score * l", "max(score, l)"}) {
    CHECK(help(fmt::format("exp({})", exponent)) ==
          fmt::format("'{}' must come apart into a part that reads 'score' plus a part that reads "
                      "'l', as score - l does",
                      exponent));
  }
  CHECK(help("exp(kv_idx * 2 - l * kv_idx)") ==
        "'l * kv_idx' must come apart into a part that reads 'kv_idx' plus a part that reads 'l', "
        "as kv_idx - l does");
}

TEST_CASE("row sums without an online form are refused in their row") {
  const std::string l = "rowsum(sigmoid(score - m))";
  const Expected refusal = refusal_of("m: rowmax(score), l: " + l, "score", l);
  CHECK(refusal.pointer == "/normalize/rows/l");
  CHECK(refusal.marked == "sigmoid(score - m)");
  CHECK(refusal.message ==
        "rowsum has no online form: the factor by which earlier sums rescale would depend on "
        "'score'");
}

TEST_CASE("a sum of differences is two sums") {
  const auto help = [](const std::string& sum) {
    return refusal_of("m: rowmax(score), l: rowsum(exp(score - m)), e: " + sum, "exp(score - m)",
                      sum)
        .help;
  };
  CHECK(help("rowsum(exp(score - m) * (score - m))") ==
        "a sum of differences is two sums: rowsum(exp(score - m) * score) and m * l");
  CHECK(help("rowsum((score - m) * exp2(score - m))") ==
        "a sum of differences is two sums: rowsum(score * exp2(score - m)) and m * "
        "rowsum(exp2(score - m))");
  // Not of what comes apart in no way.
  CHECK(help("rowsum(exp(score - m) * (score - m * score))").find("two sums") == std::string::npos);
  CHECK(help("rowsum(exp(score - m) * sigmoid(score - m))").find("two sums") == std::string::npos);
}

TEST_CASE("a maximum moves by a summand or by a factor above zero") {
  const auto refusal = [](const std::string& max) {
    return refusal_of("m: rowmax(score), n: " + max, "score", max);
  };
  const Expected product = refusal("rowmax(score * m)");
  CHECK(product.pointer == "/normalize/rows/n");
  CHECK(product.marked == "score * m");
  CHECK(product.message ==
        "rowmax has no online form: how an earlier maximum follows 'm' would depend on 'score'");
  CHECK(product.help ==
        "'score * m' must come apart into a part that reads 'score' plus a part that reads 'm', or "
        "times one that is above zero, as exp(m) is");
  CHECK(refusal("rowmax(exp(score * m))").help ==
        "'score * m' must come apart into a part that reads 'score' plus a part that reads 'm', as "
        "score - m does");
}

}  // namespace
}  // namespace attngen::attention
