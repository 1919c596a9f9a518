// Every spec of specs/variants against the formula of its paper, written here anew in C++: what the
// oracle makes of the text must be what the text is named after.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "../variant_specs.h"
#include "attention/oracle.h"
#include "support.h"

namespace attngen::attention {
namespace {

constexpr int64_t kBatch = 2, kHeads = 4, kHeadsKv = 2, kDimQk = 16, kDimV = 8;
constexpr const char* kHeader =
    "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 4, kv: 2}\nhead_dim: {qk: 16, v: 8}\n";

// A query and a key; `p` is the query's place among the keys.
struct Pair {
  int64_t b, h, i, p, j, seq_q, seq_kv;
};

// The inputs' elements, by their names.
double prefix(int64_t b) { return b == 0 ? 9 : 0; }
double key_length(int64_t b) { return b == 0 ? 13 : 0; }
double slope(int64_t h) { return std::exp2(-static_cast<double>(h + 1)); }
double sink(int64_t h) { return 0.5 - static_cast<double>(h); }
double document(int64_t b, int64_t j) {
  const int64_t id = (j + 3 * b) / 7;
  return static_cast<double>(id);
}
double image(int64_t b, int64_t j) { return (j + b) / 7 % 2 == 0 ? 1 : 0; }
double kept(int64_t b, int64_t i, int64_t j) { return (b + i * 5 + j * 3) % 4 < 2 ? 1 : 0; }
double pair_bias(int64_t h, int64_t i, int64_t j) {
  return std::sin(static_cast<double>(h * 31 + i * 7 + j));
}
double key_bias(int64_t b, int64_t j) { return std::cos(static_cast<double>(b * 5 + j)); }
double gate(int64_t h, int64_t j) { return -0.1 * static_cast<double>(j * (h + 1)); }
double output_gate(int64_t b, int64_t i, int64_t h, int64_t d) {
  return std::cos(static_cast<double>(b * 17 + i * 3 + h * 5 + d));
}
double position(int64_t b, int64_t h, int64_t i, int64_t place) {
  return std::sin(static_cast<double>(b * 13 + h * 29 + i * 3 + place * 7));
}
double bucket_bias(int64_t bucket, int64_t h) {
  return std::sin(static_cast<double>(bucket * 5 + h));
}

// DeBERTa's make_log_bucket_position and the clamp behind it: 512 buckets of 256 to either side.
int64_t log_bucket(int64_t distance) {
  constexpr double kExact = 128, kFurthest = 511;
  const auto n = static_cast<double>(std::abs(distance));
  if (n <= kExact) return 256 + distance;
  const double steps = std::log(n / kExact) / std::log(kFurthest / kExact) * (kExact - 1);
  const int64_t far = static_cast<int64_t>(std::ceil(steps - 1e-9) + kExact);
  return std::max<int64_t>(0, std::min<int64_t>(256 + (distance < 0 ? -far : far), 511));
}

int64_t hops(int64_t b, int64_t i, int64_t j) { return (b + i * 3 + j * 5) % 64; }

// Raffel et al. 2020, as its published code has it.
int64_t t5_bucket(int64_t relative) {
  int64_t bucket = relative > 0 ? 16 : 0;
  const int64_t n = std::abs(relative);
  if (n < 8) return bucket + n;
  const double large = 8 + std::log(static_cast<double>(n) / 8) / std::log(128.0 / 8) * 8;
  return bucket + std::min<int64_t>(static_cast<int64_t>(large + 1e-9), 15);
}

struct Formula {
  std::function<bool(const Pair&)> exists = [](const Pair&) { return true; };
  std::function<double(double, const Pair&)> score = [](double s, const Pair&) { return s; };
  // Scores of a row's pairs to their weights, divisor and all.
  std::function<std::vector<double>(std::vector<double>, const Pair&)> weights;
  // What becomes of column d of a row's output.
  std::function<double(double, int64_t d, const Pair&)> output = [](double o, int64_t,
                                                                    const Pair&) { return o; };
};

using Scores = std::vector<double>;

// exp(s) / (sum exp(s) + beyond).
Scores softmax(Scores s, double beyond) {
  double total = beyond;
  for (double& x : s) total += x = std::exp(x);
  for (double& x : s) x /= total;
  return s;
}

// Each score by itself, over a divisor.
template <typename Function>
auto each(Function f) {
  return [f](Scores s, const Pair& row) {
    for (double& x : s) x = f(x, row);
    return s;
  };
}

double relu(double x) { return x > 0 ? x : 0; }

std::map<std::string, Formula> formulas() {
  const auto causal = [](const Pair& x) { return x.j <= x.p; };
  const auto plain = [](Scores s, const Pair&) { return softmax(std::move(s), 0); };
  const auto masked = [&](std::function<bool(const Pair&)> exists) {
    Formula f;
    f.exists = std::move(exists);
    f.weights = plain;
    return f;
  };
  const auto scored = [&](bool is_causal, std::function<double(double, const Pair&)> score) {
    Formula f;
    if (is_causal) f.exists = causal;
    f.score = std::move(score);
    f.weights = plain;
    return f;
  };
  const auto weighted = [&](bool is_causal, auto weights) {
    Formula f;
    if (is_causal) f.exists = causal;
    f.weights = std::move(weights);
    return f;
  };
  const auto same_document = [](const Pair& x) {
    return document(x.b, std::max<int64_t>(x.p, 0)) == document(x.b, x.j);
  };

  std::map<std::string, Formula> all;
  all["causal"] = masked(causal);
  all["latent"] = scored(true, [](double s, const Pair&) { return 4 * s * 0.1352337788608801; });
  all["sliding_window"] = masked([](const Pair& x) { return x.j <= x.p && x.j > x.p - 1024; });
  all["two_sided_window"] = masked([](const Pair& x) { return std::abs(x.j - x.p) <= 512; });
  all["prefix_lm"] =
      masked([=](const Pair& x) { return causal(x) || static_cast<double>(x.j) < prefix(x.b); });
  all["dilated"] = masked([](const Pair& x) {
    // Blocks of 64 tokens; none lies before the first key's.
    return x.j <= x.p && (x.p / 64 - x.j / 64) % 4 == 0;
  });
  all["documents"] = masked([=](const Pair& x) { return causal(x) && same_document(x); });
  all["unsorted_documents"] = all["documents"];
  all["global_and_window"] = masked([=](const Pair& x) {
    return causal(x) && (static_cast<double>(x.j) < prefix(x.b) || x.p - x.j < 1024);
  });
  all["global_tokens"] =
      masked([](const Pair& x) { return x.i < 128 || x.j < 128 || std::abs(x.i - x.j) <= 256; });
  all["image_spans"] = masked([=](const Pair& x) {
    return causal(x) || (same_document(x) && image(x.b, std::max<int64_t>(x.p, 0)) != 0);
  });
  all["not_self"] = masked([](const Pair& x) {
    return std::floor(static_cast<double>(x.p) / 32) != std::floor(static_cast<double>(x.j) / 32);
  });
  all["key_padding"] =
      masked([](const Pair& x) { return static_cast<double>(x.j) < key_length(x.b); });

  all["pair_mask"] = masked([](const Pair& x) { return kept(x.b, x.i, x.j) != 0; });
  all["additive_mask"] = all["pair_mask"];
  all["additive_mask"].score = [](double s, const Pair& x) { return s + pair_bias(x.b, x.i, x.j); };

  const auto distance = [](const Pair& x) { return static_cast<double>(x.p - x.j); };
  all["alibi"] =
      scored(true, [=](double s, const Pair& x) { return s - slope(x.h) * distance(x); });
  all["encoder_alibi"] = all["key_padding"];
  all["encoder_alibi"].score = [=](double s, const Pair& x) {
    return s - slope(x.h) * std::fabs(distance(x));
  };
  all["softcap"] = scored(true, [](double s, const Pair&) { return 30 * std::tanh(s / 30); });
  all["tanh_clip"] = scored(false, [](double s, const Pair&) { return 10 * std::tanh(s); });
  all["t5_bias"] = scored(false, [](double s, const Pair& x) {
    return 4 * s + bucket_bias(t5_bucket(x.j - x.p), x.h);  // no 1 / sqrt(16)
  });
  all["pair_bias"] =
      scored(false, [](double s, const Pair& x) { return s + pair_bias(x.h, x.i, x.j); });
  all["relative_positions"] = scored(
      false, [](double s, const Pair& x) { return s + position(x.b, x.h, x.i, 2048 + x.j - x.i); });
  all["graph_distances"] = scored(
      false, [](double s, const Pair& x) { return s + bucket_bias(hops(x.b, x.i, x.j), x.h); });
  all["broadcast_bias"] = scored(false, [](double s, const Pair& x) {
    return s + pair_bias(0, x.i, x.j) + key_bias(x.b, x.j);
  });
  all["image_positions"] = scored(false, [](double s, const Pair& x) {
    return s + position(x.b, x.h, x.i, x.j / 64) + 2 * position(x.b, x.h, x.i, x.j % 64);
  });
  all["relative_keys"] = scored(false, [](double s, const Pair& x) {
    const int64_t place = 128 + std::max<int64_t>(-128, std::min<int64_t>(x.j - x.p, 128));
    return s + position(x.b, x.h, x.i, place);
  });
  all["disentangled"] = scored(false, [](double s, const Pair& x) {
    const int64_t place = log_bucket(x.i - x.j);
    return 4 * s / std::sqrt(3 * 64.0) + position(x.b, x.h, x.i, place) -
           position(x.b, x.h, x.j, place);
  });
  all["temperature"] = scored(true, [](double s, const Pair& x) { return s * slope(x.h); });
  all["log_distance"] = scored(
      true, [=](double s, const Pair& x) { return s - slope(x.h) * std::log1p(distance(x)); });
  all["forgetting"] =
      scored(true, [](double s, const Pair& x) { return s + gate(x.h, x.p) - gate(x.h, x.j); });
  all["pruned_forgetting"] = all["forgetting"];
  all["pruned_forgetting"].exists = [=](const Pair& x) {
    return causal(x) && gate(x.h, x.p) - gate(x.h, x.j) > -20;
  };

  all["sinks"] = weighted(
      true, [](Scores s, const Pair& row) { return softmax(std::move(s), std::exp(sink(row.h))); });
  all["softmax_plus_one"] =
      weighted(true, [](Scores s, const Pair&) { return softmax(std::move(s), 1); });
  all["softpick"] = weighted(true, [](Scores s, const Pair&) {
    // Its 1e-6 stands beside sums that exp(m) divides.
    const double largest = s.empty() ? 0 : std::max(0.0, *std::max_element(s.begin(), s.end()));
    double total = 1e-6 * std::exp(largest);
    for (const double x : s) total += std::abs(std::expm1(x));
    for (double& x : s) x = relu(std::expm1(x)) / total;
    return s;
  });
  all["sigmoid"] =
      weighted(true, each([](double s, const Pair&) { return 1 / (1 + std::exp(-(s - 1.5))); }));
  all["relu"] = weighted(
      true, each([](double s, const Pair& x) { return relu(s) / static_cast<double>(x.p + 1); }));
  all["relu_d64"] = weighted(
      false, each([](double s, const Pair& x) { return relu(s) / static_cast<double>(x.seq_kv); }));
  all["squared_relu"] = weighted(true, each([](double s, const Pair& x) {
                                   return relu(s) * relu(s) / static_cast<double>(x.p + 1);
                                 }));
  all["gated_output"] = masked(causal);
  all["gated_output"].output = [](double o, int64_t d, const Pair& x) {
    return o / (1 + std::exp(-output_gate(x.b, x.i, x.h, d)));
  };
  all["polynomial"] = weighted(true, [](Scores s, const Pair&) {
    double total = 1;
    for (double& x : s) total += x = x * x * x * x;
    for (double& x : s) x /= total;
    return s;
  });
  all["retention"] = weighted(true, [](Scores s, const Pair&) {
    double total = 0;
    for (const double x : s) total += std::abs(x);
    for (double& x : s) x /= std::max(total, 1.0);
    return s;
  });
  all["retention"].score = [=](double s, const Pair& x) {
    const double gamma = 1 - std::pow(2, -5 - static_cast<double>(x.h));
    return s * std::pow(gamma, distance(x));
  };
  all["wide_retention"] = all["retention"];
  all["linear_attention"] = weighted(true, each([](double s, const Pair&) { return s; }));
  all["linear_attention"].score = all["retention"].score;
  all["gated_linear_attention"] = all["linear_attention"];
  all["gated_linear_attention"].score = [](double s, const Pair& x) {
    return s * std::exp(gate(x.h, x.p) - gate(x.h, x.j)) * key_bias(x.b * kHeads + x.h, x.j);
  };
  all["mlstm"] = weighted(true, [](Scores s, const Pair&) {
    double total = 0;
    for (const double x : s) total += x;
    for (double& x : s) x /= std::max(std::abs(total), 1.0);
    return s;
  });
  all["mlstm"].score = [](double s, const Pair& x) {
    return s * std::exp(gate(x.h, x.p) - gate(x.h, x.j) + key_bias(x.b * kHeads + x.h, x.j));
  };
  all["l2_normalised"] = weighted(false, [](Scores s, const Pair&) {
    double total = 1e-6;
    for (const double x : s) total += x * x;
    for (double& x : s) x /= std::sqrt(total);
    return s;
  });
  all["entropy"] = masked(causal);
  all["cross_attention"] = masked([](const Pair&) { return true; });
  all["unequal_dims"] = masked(causal);
  all["gqa_few_rows"] = masked(causal);
  all["one_query"] = masked([](const Pair&) { return true; });
  all["head_dim_512"] = masked([](const Pair&) { return true; });
  return all;
}

// Random q, k, v as [batch, seq, head, dim], exact in bf16, and the inputs above.
class VariantData {
 public:
  VariantData(int64_t seq_q, int64_t seq_kv) {
    std::mt19937_64 random(static_cast<uint64_t>(seq_q * 100 + seq_kv));
    std::normal_distribution<double> normal;
    const auto draw = [&](std::vector<float>& x, int64_t seq, int64_t heads, int64_t dim) {
      for (int64_t n = kBatch * seq * heads * dim; n > 0; --n) {
        x.push_back(static_cast<float>(round_to(spec::DType::Bf16, normal(random))));
      }
      x.push_back(0);  // never empty
      return TensorView{x.data(), seq * heads * dim, heads * dim, dim};
    };
    problem.batch = kBatch;
    problem.seq_q = seq_q;
    problem.seq_kv = seq_kv;
    problem.q = draw(q_, seq_q, kHeads, kDimQk);
    problem.k = draw(k_, seq_kv, kHeadsKv, kDimQk);
    problem.v = draw(v_, seq_kv, kHeadsKv, kDimV);
  }
  void fill_inputs(const spec::Spec& spec) {
    const int64_t sq = problem.seq_q;
    const int64_t sk = problem.seq_kv;
    const auto put = [&](const char* name, int64_t rows, int64_t columns, auto element) {
      if (spec.find_input(name) == nullptr) return;
      std::vector<double>& values = problem.inputs[name];
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) values.push_back(element(r, c));
      }
    };
    put("gates", kBatch * kHeads, sk, [](int64_t r, int64_t j) { return gate(r % kHeads, j); });
    put("step", kBatch * kHeads, sk, key_bias);
    put("entry", kBatch * kHeads, sk, key_bias);
    put("prefix", 1, kBatch, [](int64_t, int64_t b) { return prefix(b); });
    put("kv_len", 1, kBatch, [](int64_t, int64_t b) { return key_length(b); });
    put("doc", kBatch, sk, document);
    put("span", kBatch, sk, document);
    put("image", kBatch, sk, image);
    put("key", kBatch, sk, key_bias);
    put("slopes", 1, kHeads, [](int64_t, int64_t h) { return slope(h); });
    put("log_decay", 1, kHeads, [](int64_t, int64_t h) { return -slope(h); });
    put("temperature", 1, kHeads, [](int64_t, int64_t h) { return slope(h); });
    put("sink", 1, kHeads, [](int64_t, int64_t h) { return sink(h); });
    put("gate", kBatch * sq, kHeads * kDimV,
        [sq](int64_t r, int64_t c) { return output_gate(r / sq, r % sq, c / kDimV, c % kDimV); });
    put("table", 32, kHeads, bucket_bias);
    put("keep", kBatch * sq, sk, [sq](int64_t r, int64_t j) { return kept(r / sq, r % sq, j); });
    put("attn_mask", kBatch * sq, sk, [sq](int64_t r, int64_t j) {
      return kept(r / sq, r % sq, j) != 0 ? pair_bias(r / sq, r % sq, j) : -expr::kInfinity;
    });
    const auto put_positions = [&](const char* name, int64_t columns, double factor) {
      put(name, kBatch * kHeads * sq, columns, [=](int64_t r, int64_t place) {
        return factor * position(r / sq / kHeads, r / sq % kHeads, r % sq, place);
      });
    };
    put_positions("rel_h", 64, 1);
    put_positions("rel_w", 64, 2);
    put_positions("rel", 257, 1);
    put_positions("bd", 4096, 1);
    put_positions("c2p", 512, 1);
    put("p2c", kBatch * kHeads * sk, 512, [sk](int64_t r, int64_t place) {
      return -position(r / sk / kHeads, r / sk % kHeads, r % sk, place);
    });
    put("bucket", 1, 1025,
        [](int64_t, int64_t i) { return static_cast<double>(log_bucket(i - 512)); });
    put("dist", kBatch * sq, sk,
        [sq](int64_t r, int64_t j) { return static_cast<double>(hops(r / sq, r % sq, j)); });
    put("spatial", kHeads, 64, [](int64_t h, int64_t place) { return bucket_bias(place, h); });
    put("pair", sq, sk, [](int64_t i, int64_t j) { return pair_bias(0, i, j); });
    put("bias", spec.name == "sigmoid" ? 1 : kHeads * sq, spec.name == "sigmoid" ? 1 : sk,
        [&](int64_t r, int64_t j) {
          return spec.name == "sigmoid" ? -1.5 : pair_bias(r / sq, r % sq, j);
        });
  }
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t d = 0; d < kDimQk; ++d) {
      sum +=
          double{problem.q.data[b * problem.q.batch + i * problem.q.seq + h * problem.q.head + d]} *
          double{
              problem.k.data[b * problem.k.batch + j * problem.k.seq + h / 2 * problem.k.head + d]};
    }
    return sum / 4;  // sqrt(16)
  }
  double value(int64_t b, int64_t h, int64_t j, int64_t d) const {
    return problem.v.data[b * problem.v.batch + j * problem.v.seq + h / 2 * problem.v.head + d];
  }
  Problem problem;

 private:
  std::vector<float> q_, k_, v_;
};

std::vector<double> by_formula(const Formula& f, const VariantData& data, int64_t b, int64_t h,
                               int64_t i) {
  const Problem& p = data.problem;
  Pair pair{b, h, i, i + p.seq_kv - p.seq_q, 0, p.seq_q, p.seq_kv};
  Scores scores;
  std::vector<int64_t> keys;
  for (pair.j = 0; pair.j < p.seq_kv; ++pair.j) {
    if (!f.exists(pair)) continue;
    keys.push_back(pair.j);
    scores.push_back(f.score(data.score(b, h, i, pair.j), pair));
  }
  std::vector<double> o(kDimV, 0.0);
  if (keys.empty()) return o;
  const Scores weights = f.weights(scores, pair);
  for (size_t n = 0; n < keys.size(); ++n) {
    for (int64_t d = 0; d < kDimV; ++d) o[d] += weights[n] * data.value(b, h, keys[n], d);
  }
  for (int64_t d = 0; d < kDimV; ++d) o[d] = f.output(o[d], d, pair);
  return o;
}

TEST_CASE("every variant is the formula that it is named after") {
  const std::map<std::string, Formula> all = formulas();
  for (const auto& file : attngen::testing::variant_files()) {
    const std::string &name = file.first, &text = file.second;
    CAPTURE(name);
    std::string header = kHeader;
    header.replace(header.find("name: t"), 7, "name: " + name);
    text::Diagnostics diagnostics({name, attngen::testing::with_header(header, text)});
    const auto spec = spec::read(diagnostics);
    REQUIRE_MESSAGE(spec.has_value(), diagnostics.render(text::ErrorFormat::Gcc));
    // Packed and sparse tensors and two maps have tests of their own.
    if (spec->varlen || spec->sparsity != spec::Spec::Sparsity::None || spec->maps > 1) continue;
    const auto formula = all.find(name);
    REQUIRE_MESSAGE(formula != all.end(), "a variant without a formula here");
    const Oracle oracle(*spec);
    // More than a block, a window's edge, rows without a pair, one row, no key.
    for (const auto& lengths :
         {std::pair<int64_t, int64_t>{150, 330}, {3, 1100}, {40, 9}, {1, 30}, {2, 0}}) {
      const int64_t seq_q = lengths.first, seq_kv = lengths.second;
      VariantData data(seq_q, seq_kv);
      data.fill_inputs(*spec);
      for (const int64_t i : {int64_t{0}, seq_q / 2, seq_q - 1}) {
        for (const auto& [b, h] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}}) {
          const std::vector<double> expected = by_formula(formula->second, data, b, h, i);
          const Row row = oracle.row(data.problem, b, h, i, Arithmetic::Exact);
          double largest = 1e-3, error = 0;
          for (size_t d = 0; d < expected.size(); ++d) {
            largest = std::max(largest, std::abs(expected[d]));
            error = std::max(error, std::abs(expected[d] - row.o[d]));
          }
          CAPTURE(seq_q);
          CAPTURE(seq_kv);
          CAPTURE(i);
          CHECK(error <= 1e-9 * largest);
        }
      }
    }
  }
}

TEST_CASE("the entropy is that of the weights") {
  text::Diagnostics diagnostics(
      {"entropy",
       attngen::testing::with_header(kHeader, attngen::testing::variant_files().at("entropy"))});
  const auto spec = spec::read(diagnostics);
  REQUIRE(spec.has_value());
  const VariantData data(40, 330);
  for (const int64_t i : {0, 17, 39}) {
    Scores scores;
    for (int64_t j = 0; j <= i + 290; ++j) scores.push_back(data.score(0, 1, i, j));
    double entropy = 0;
    for (const double p : softmax(scores, 0)) entropy -= p * std::log(p);
    const Row row = Oracle(*spec).row(data.problem, 0, 1, i, Arithmetic::Exact);
    REQUIRE(row.saves.size() == 1);
    CHECK(row.saves[0] == doctest::Approx(entropy).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace attngen::attention
