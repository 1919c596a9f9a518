// A row form followed block by block, as a kernel does, must give what the closed form gives.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "attention/oracle.h"
#include "expr/evaluate.h"
#include "support.h"

namespace attngen::attention {
namespace {

using expr::kInfinity;
using testing::form_of;
using testing::spec_of;

using Values = std::map<std::string, double, std::less<>>;

double evaluate(const expr::Expr& e, const Values& values) {
  const auto variable = [&](std::string_view name) { return values.at(std::string(name)); };
  const auto load = [](std::string_view, std::span<const int64_t>) { return 0.75; };  // sink
  return expr::evaluate(e, variable, load);
}

// Keys have one element, so that scores and values are free to choose.
struct Keys {
  std::vector<double> scores, values;
};

struct Result {
  double o = 0;
  std::vector<double> saves;
};

class OnlineRow {
 public:
  explicit OnlineRow(const RowForm& form) : form_(form) {
    values_ = {{"h", 0}, {"acc", 0}};
    for (const Reduction& r : form.reductions) {
      values_[r.name] = r.kind == Reduction::Kind::Max ? -kInfinity : 0;
    }
    update_rows();
  }

  void take(const Keys& keys, size_t begin, size_t end) {
    const Values old = values_;
    for (const RowValue& row : form_.rows) values_[old_name(row.name)] = old.at(row.name);
    // In order: an element reads rows of the reductions before it.
    for (const Reduction& reduction : form_.reductions) {
      reduce(reduction, keys, begin, end);
      update_rows();
    }
    double acc = begin == 0 ? 0 : old.at("acc") * evaluate(form_.rescale, values_);
    for (size_t j = begin; j < end; ++j) {
      acc += pair_value(form_.weight, keys, j) * keys.values[j];
    }
    values_["acc"] = acc;
  }

  Result finish() {
    update_rows();
    Result result{evaluate(form_.output, values_), {}};
    for (const auto& save : form_.saves) result.saves.push_back(evaluate(save.value, values_));
    return result;
  }

 private:
  double pair_value(const expr::Expr& e, const Keys& keys, size_t j) {
    values_["score"] = keys.scores[j];
    values_["kv_idx"] = static_cast<double>(j);
    return evaluate(e, values_);
  }
  void reduce(const Reduction& r, const Keys& keys, size_t begin, size_t end) {
    double& running = values_[r.name];
    if (begin > 0) running *= evaluate(r.rescale, values_);
    for (size_t j = begin; j < end; ++j) {
      const double element = pair_value(r.element, keys, j);
      running = r.kind == Reduction::Kind::Max ? std::max(running, element) : running + element;
    }
  }
  void update_rows() {
    for (const RowValue& row : form_.rows) values_[row.name] = evaluate(row.value, values_);
  }

  const RowForm& form_;
  Values values_;
};

// By the oracle: q is 1, k the score, in one dimension of eight.
Result closed_form(const std::string& body, const Keys& keys) {
  const spec::Spec spec = spec_of("scale: 1\n" + body);
  std::vector<float> q(64, 0.0F);
  q[0] = 1;
  std::vector<float> k(keys.scores.size() * 16, 0.0F);
  std::vector<float> v(keys.scores.size() * 8, 0.0F);
  for (size_t j = 0; j < keys.scores.size(); ++j) {
    k[j * 16] = static_cast<float>(keys.scores[j]);
    v[j * 8] = static_cast<float>(keys.values[j]);
  }
  Problem problem{1,
                  1,
                  static_cast<int64_t>(keys.scores.size()),
                  {q.data(), 0, 64, 16},
                  {k.data(), 0, 16, 0},
                  {v.data(), 0, 8, 0},
                  {}};
  problem.inputs["sink"] = std::vector<double>(4, 0.75);
  const Row row = Oracle(spec).row(problem, 0, 0, 0, Arithmetic::Exact);
  return {row.o[0], row.saves};
}

void check_agrees(const std::string& normalize) {
  CAPTURE(normalize);
  const RowForm form = form_of(normalize);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 4);
  for (int trial = 0; trial < 40; ++trial) {
    Keys keys;
    const size_t count = 1 + random() % 20;
    for (size_t j = 0; j < count; ++j) {
      // Floats, since the oracle's data are.
      keys.scores.push_back(static_cast<float>(normal(random)));
      keys.values.push_back(static_cast<float>(normal(random)));
    }
    const Result expected = closed_form("normalize:" + normalize, keys);
    OnlineRow online(form);
    for (size_t begin = 0; begin < count;) {
      const size_t end = std::min(count, begin + 1 + random() % 6);
      online.take(keys, begin, end);
      begin = end;
    }
    const Result got = online.finish();
    CHECK(got.o == doctest::Approx(expected.o).epsilon(1e-9).scale(1));
    REQUIRE(got.saves.size() == expected.saves.size());
    for (size_t i = 0; i < got.saves.size(); ++i) {
      CHECK(got.saves[i] == doctest::Approx(expected.saves[i]).epsilon(1e-9).scale(1));
    }
  }
}

const char* const kForms[] = {
    R"(
  rows: {m: rowmax(score), l: rowsum(exp(score - m))}
  weight: exp(score - m)
  output: acc / l
  save: {lse: m + log(l)}
)",
    R"(
  rows: {m: rowmax(score), l: rowsum(exp(score - m))}
  weight: exp(score - m) / l
  output: acc
  save: {lse: m + log(l)}
)",
    R"(
  rows: {m: 'max(rowmax(score), sink[h])', l: 'rowsum(exp(score - m)) + exp(sink[h] - m)'}
  weight: exp(score - m)
  output: acc / l
  save: {lse: m + log(l)}
)",
    R"(
  rows: {m: rowmax(score), l: rowsum(abs(exp(score - m) - exp(-m)))}
  weight: relu(exp(score - m) - exp(-m))
  output: acc / (l + 0.000001)
  save: {l: l}
)",
    R"(
  rows: {n: 'max(abs(rowsum(score)), 1)'}
  weight: score / n
  output: acc
)",
    R"(
  rows: {top: rowmax(abs(score)), l: 'rowsum(pow(score / (top + 1), 4))'}
  weight: pow(score / (top + 1), 4)
  output: acc / (l + 0.001)
  save: {l: l}
)",
    R"(
  rows: {m: rowmax(score), z: 'rowmax(score - 2 * m)', l: 'rowsum(exp2((score - m) / 3))'}
  weight: exp2((score - m) / 3) if score > 0 else 0
  output: acc / l + z
  save: {z: z, l: l}
)",
    R"(
  rows: {m: rowmax(score), l: 'rowsum(pow(2, score - m))', s: 'rowsum(pow(0.3, m - score))'}
  weight: pow(2, score - m)
  output: acc / l
  save: {s: s}
)",
    R"(
  rows: {m: rowmax(score), e: rowsum(exp(score - m)), s: rowsum(score * exp(score - m) / e)}
  weight: exp(score - m) / e
  output: acc - s
  save: {mean: s, lse: m + log(e)}
)",
    R"(
  rows: {m: rowmax(score), r: sqrt(rowsum(square(exp(score - m))))}
  weight: sqrt(square(exp(score - m) / r))
  output: acc
  save: {r: r}
)",
    // Both sides of a choice or of an extremum move alike.
    R"(
  rows: {m: rowmax(score), l: 'rowsum(exp(max(-m + score, -2 - m)))'}
  weight: 'exp(score - m if score > 0 else -inf) + exp(-inf if score > 0 else min(score - m, 3 - m))'
  output: acc / l
  save: {l: l}
)",
    R"(
  rows: {m: rowmax(score), l: 'rowsum(max(exp(score - m), exp(-m)))', s: 'rowsum(min(0, -exp(score - m)))'}
  weight: 'max(0, exp(score) / exp(m))'
  output: acc / l
  save: {l: l, s: s}
)",
    R"(
  rows: {n: 'max(rowsum(abs(score)), 1)', top: rowmax(score / n), l: rowsum(relu(score / n)), s: rowsum(abs(score / -n))}
  weight: 'min(score / n, 2 / n)'
  output: acc
  save: {top: top, l: l, s: s}
)",
    R"(
  rows: {m: rowmax(score), top: rowmax(score * exp2(-m / 4)), r: rowsum(rsqrt(exp((m - score) / 5)))}
  weight: pow(exp2(score - m), 0.3)
  output: acc / r
  save: {top: top, r: r}
)",
};

TEST_CASE("block by block is as all at once") {
  for (const char* form : kForms) check_agrees(form);
}

}  // namespace
}  // namespace attngen::attention
