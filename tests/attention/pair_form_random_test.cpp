// What a kernel makes of a pair, as pair_form arranges it, is what the spec says of the pair: for
// random scores, weights, elements of a row's sums, and masks. Near and far forms are right to a
// rounding alone and are off here: near_form_test and far_form_test hold them to their own.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../expr/traced.h"
#include "attention/pair_form.h"
#include "expr/print.h"
#include "expr/simplify.h"
#include "pair_kernel.h"
#include "random_pair.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::PairKernel;
using testing::Place;
using testing::RandomPair;

// The sanitizers take ten times as long.
#ifdef ATTNGEN_SANITIZED
constexpr uint64_t kRandomForms = 500;
#else
constexpr uint64_t kRandomForms = 5'000;
#endif

spec::Spec spec_with_inputs(const std::string& lines) {
  return testing::read_spec(testing::random_pair_text(lines));
}

// A spec with its random parts, and what pair_form makes of it.
struct RandomForm {
  RandomForm(spec::Spec drawn, RandomPair& random) : spec(std::move(drawn)) {
    constexpr std::array kScales = {1.0, 0.5, 0.09, std::numbers::ln2};
    spec.scale = kScales[random.below(kScales.size())];
    spec.dtype = random.one_in(3) ? spec::DType::Fp16 : spec::DType::Bf16;
    abilities.bias = random.one_in(2);
    abilities.key_rows = random.one_in(2);
    if (random.one_in(2)) abilities.strips = Shared::All;
    abilities.rounds_positive_part = random.one_in(2);
    const auto derived = derive_row_form(spec.normalize);
    REQUIRE(std::holds_alternative<RowForm>(derived));
    rows = std::get<RowForm>(derived);
    form = pair_form(spec, rows, abilities);
  }

  std::string text() const {
    const auto printed = [](const expr::Expr& e) { return e ? expr::print(e) : "none"; };
    std::string keys;
    for (const expr::Expr& value : form.of_key) keys += printed(value) + "; ";
    return fmt::format(
        "scale {}, score {}\nweight {}\nmask {}\nbias {}, key_rows {}, strips {}, "
        "rounds_positive_part {}\nbecame score {}\nbase {}\nrow_term {}\nweight {}\nmask {}\n"
        "of_key {}\nof_distance {}\n",
        spec.scale, printed(spec.score), printed(spec.normalize.weight), printed(spec.mask),
        abilities.bias, abilities.key_rows, abilities.strips != Shared::Nothing,
        abilities.rounds_positive_part, printed(form.score), printed(form.base),
        printed(form.row_term), printed(form.weight), printed(form.mask), keys,
        printed(form.of_distance));
  }

  spec::Spec spec;
  PairAbilities abilities;
  RowForm rows;
  PairForm form;
};

Place random_place(RandomPair& random) {
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random.below(bound)); };
  Place place;
  place.b = below(3);
  place.h = below(4);
  place.seq_q = 40 + below(100);
  place.seq_kv = 90 + below(60);
  place.q_idx = below(40);
  place.first = below(40);
  place.kv_idx = place.first + (random.one_in(2) ? 0 : below(50));
  place.product = random.within(-7, 7);
  place.max = random.within(-3, 3);
  return place;
}

// What an expression of the spec is there.
expr::testing::Traced meant(const spec::Spec& spec, const expr::Expr& e, const Place& place) {
  testing::Names names = place.with_key(place.kv_idx);
  names["score"] = place.product * spec.scale;
  names["m"] = place.max;
  std::vector<std::string> variables;
  std::vector<double> values;
  for (const auto& [name, value] : names) {
    variables.push_back(name);
    values.push_back(value);
  }
  return expr::testing::traced(e, variables, values, testing::element_of);
}

class Comparison {
 public:
  // Of what the spec says with what a kernel computes, at a few places of which last bits do not
  // decide.
  template <typename Computed>
  void operator()(const RandomForm& subject, const expr::Expr& said, RandomPair& random,
                  const Computed& computed) {
    constexpr int kPlaces = 4;
    for (int i = 0; i < kPlaces; ++i) {
      const Place at = random_place(random);
      const auto expected = meant(subject.spec, said, at);
      if (!expected.tame || !expected.finite) continue;
      INFO("b ", at.b, ", h ", at.h, ", q_idx ", at.q_idx, " of ", at.seq_q, ", kv_idx ", at.kv_idx,
           " of ", at.seq_kv, ", first ", at.first, ", product ", at.product, ", m ", at.max);
      const double actual = computed(PairKernel(subject.form, at));
      CAPTURE(expected.value);
      CAPTURE(actual);
      CHECK(std::fabs(actual - expected.value) <= 1e-6 * (1 + std::fabs(expected.value)));
      ++compared_;
    }
  }

  // What random forms are to have, or it is not tested.
  void count(const char* what, bool has) { counts_[what] += has ? 1 : 0; }
  void count_parts(const PairForm& form) {
    count("bias", form.scores_read_bias());
    count("lines", !form.lines.empty());
    count("key rows", !form.key_rows.empty());
    count("strip of keys", !form.of_key.empty());
    count("strips of keys", form.of_key.size() > 1);
    count("strip of distances", bool{form.of_distance});
  }
  void check_counts() const {
    CHECK(compared_ > 2 * kRandomForms);
    for (const auto& entry : counts_) {
      INFO(entry.first);
      CHECK(entry.second > kRandomForms / 200);
    }
  }

 private:
  uint64_t compared_ = 0;
  std::map<std::string, uint64_t> counts_;
};

TEST_CASE("of a random score a kernel computes what the spec says") {
  const spec::Spec softmax = spec_with_inputs("");
  const spec::Spec beside_a_sink = spec_with_inputs(
      "normalize:\n"
      "  rows: {m: \"max(rowmax(score), 0)\", l: \"rowsum(exp(score - m))\"}\n"
      "  weight: exp(score - m) / l\n");
  Comparison compare;
  for (uint64_t seed = 1; seed <= kRandomForms; ++seed) {
    RandomPair random(seed);
    spec::Spec spec = random.one_in(4) ? beside_a_sink : softmax;
    spec.score = random.value(2 + static_cast<int>(random.below(3)));
    // Its constants leave fewer registers for those of the score.
    if (random.one_in(2)) spec.mask = random.mask(3);
    const RandomForm subject(std::move(spec), random);
    INFO("seed ", seed, "\n", subject.text());
    compare(subject, subject.spec.score, random,
            [](const PairKernel& kernel) { return kernel.score(); });
    const PairForm& form = subject.form;
    compare.count_parts(form);
    compare.count("affine", form.affine);
    compare.count("base", form.base && !form.base.is_number());
    compare.count("unit", form.unit != 1);
    compare.count("row term", bool{form.row_term});
  }
  compare.check_counts();
}

// Of a weight by itself, beside a row's sum, or of a running maximum.
spec::Normalizer random_normalizer(RandomPair& random) {
  using expr::make;
  using expr::Op;
  const auto variable = [](const char* name) { return expr::variable(name, expr::Type::Float); };
  spec::Normalizer result;
  result.output = variable("acc");
  result.weight = random.value(static_cast<int>(random.below(4)));
  if (random.one_in(3)) result.weight = make(Op::Relu, {result.weight});
  if (random.one_in(6)) result.weight = make(Op::Multiply, {expr::number(3), result.weight});
  if (random.one_in(3)) {
    const expr::Expr element = random.one_in(2) ? result.weight : random.value(2);
    result.rows.push_back({"l", make(Op::RowSum, {element})});
    result.output = make(Op::Divide, {result.output, variable("l")});
  }
  if (random.one_in(4)) {
    const expr::Expr shifted = make(Op::Subtract, {variable("score"), variable("m")});
    const expr::Expr power = make(Op::Exp, {shifted});
    result.rows.push_back({"m", make(Op::RowMax, {variable("score")})});
    if (random.one_in(2)) {
      const expr::Expr element = make(Op::Multiply, {random.value(1), power});
      result.rows.push_back({"e", make(Op::RowSum, {element})});
    }
    result.weight = make(Op::Multiply, {result.weight, power});
  }
  return result;
}

TEST_CASE("of random weights and elements a kernel computes what the spec says") {
  const spec::Spec plain = spec_with_inputs("");
  Comparison compare;
  for (uint64_t seed = 1; seed <= kRandomForms; ++seed) {
    RandomPair random(seed);
    spec::Spec spec = plain;
    if (random.one_in(2)) spec.score = random.value(2);
    spec.normalize = random_normalizer(random);
    const RandomForm subject(std::move(spec), random);
    INFO("seed ", seed, "\n", subject.text());
    const auto of_score = [&](const expr::Expr& e) {
      return expr::substitute(e, {{"score", subject.spec.score}});
    };
    compare(subject, of_score(subject.spec.normalize.weight), random,
            [](const PairKernel& kernel) { return kernel.weight(); });
    const PairForm& form = subject.form;
    REQUIRE(form.elements.size() == subject.rows.reductions.size());
    for (size_t i = 0; i < form.elements.size(); ++i) {
      compare(subject, of_score(subject.rows.reductions[i].element), random,
              [i](const PairKernel& kernel) { return kernel.element(i); });
    }
    compare.count_parts(form);
    compare.count("score", bool{form.score});
    compare.count("factor", form.weight_factor != 1);
    compare.count("an element's factor",
                  std::ranges::any_of(form.elements, [](const PairElement& element) {
                    return element.factor != 1;
                  }));
    compare.count("positive part", form.positive_part);
  }
  compare.check_counts();
}

TEST_CASE("of a random mask a kernel tests what the spec says") {
  const spec::Spec plain = spec_with_inputs("");
  Comparison compare;
  for (uint64_t seed = 1; seed <= kRandomForms; ++seed) {
    RandomPair random(seed);
    spec::Spec spec = plain;
    spec.mask = random.mask(3);
    const RandomForm subject(std::move(spec), random);
    INFO("seed ", seed, "\n", subject.text());
    compare.count("byte", subject.form.mask_reads_bias());
    compare(subject, subject.spec.mask, random,
            [](const PairKernel& kernel) { return kernel.exists() ? 1.0 : 0.0; });
    compare.count("constants", !subject.form.constants.empty());
    compare.count("words of keys", !subject.form.key_words.empty());
  }
  compare.check_counts();
}

}  // namespace
}  // namespace attngen::attention
