#include "attention/oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support.h"

namespace attngen::attention {
namespace {

using expr::kInfinity;
using testing::spec_of;

// Random q, k, v of a spec from support.h in the layout [batch, seq, head, dim], exact in bf16.
struct Tensors {
  Tensors(int64_t seq_q, int64_t seq_kv, uint64_t seed = 1)
      : q(2 * seq_q * 4 * 16 + 1), k(2 * seq_kv * 2 * 16 + 1), v(2 * seq_kv * 2 * 8 + 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (auto* tensor : {&q, &k, &v}) {
      for (float& x : *tensor) {
        x = static_cast<float>(round_to(spec::DType::Bf16, normal(random)));
      }
    }
    problem.batch = 2;
    problem.seq_q = seq_q;
    problem.seq_kv = seq_kv;
    problem.q = {q.data(), seq_q * 64, 64, 16};
    problem.k = {k.data(), seq_kv * 32, 32, 16};
    problem.v = {v.data(), seq_kv * 16, 16, 8};
    problem.inputs["sink"] = {0.5, -1, 0, 2};
    problem.inputs["prefix"] = {3, 0};
    problem.inputs["doc_id"] = std::vector<double>(2 * seq_kv, 0.0);
  }
  // The float at row `seq`, head `head` of batch 0 or 1.
  double key(int64_t b, int64_t j, int64_t head, int64_t d) const {
    return k[b * problem.k.batch + j * problem.k.seq + head * problem.k.head + d];
  }
  double value(int64_t b, int64_t j, int64_t head, int64_t d) const {
    return v[b * problem.v.batch + j * problem.v.seq + head * problem.v.head + d];
  }
  // q . k / sqrt(16)
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t d = 0; d < 16; ++d) {
      sum +=
          q[b * problem.q.batch + i * problem.q.seq + h * problem.q.head + d] * key(b, j, h / 2, d);
    }
    return sum / 4;
  }
  std::vector<float> q, k, v;
  Problem problem;
};

Row exact(const std::string& body, const Tensors& t, int64_t b, int64_t h, int64_t q) {
  return Oracle(spec_of(body)).row(t.problem, b, h, q, Arithmetic::Exact);
}

TEST_CASE("softmax against the textbook formula") {
  const Tensors t(5, 7);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 4; ++h) {
      const Row row = exact("", t, b, h, 3);
      CHECK(row.pairs == 7);
      double total = 0;
      for (int64_t j = 0; j < 7; ++j) total += std::exp(t.score(b, h, 3, j));
      REQUIRE(row.saves.size() == 1);
      CHECK(row.saves[0] == doctest::Approx(std::log(total)).epsilon(1e-12));
      for (int64_t d = 0; d < 8; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < 7; ++j) {
          sum += std::exp(t.score(b, h, 3, j)) * t.value(b, j, h / 2, d);
        }
        CHECK(row.o[d] == doctest::Approx(sum / total).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("softmax weights sum to 1") {
  Tensors t(4, 33);
  std::fill(t.v.begin(), t.v.end(), 1.0F);
  for (double o : exact("mask: kv_idx <= q_pos\n", t, 1, 2, 3).o) {
    CHECK(o == doctest::Approx(1).epsilon(1e-14));
  }
}

TEST_CASE("causal aligns the last query with the last key") {
  const Tensors t(4, 4);
  const Row first = exact("mask: kv_idx <= q_pos\n", t, 0, 3, 0);
  CHECK(first.pairs == 1);
  for (int64_t d = 0; d < 8; ++d) CHECK(first.o[d] == t.value(0, 0, 1, d));
  const Tensors longer(2, 6);
  CHECK(exact("mask: kv_idx <= q_pos\n", longer, 0, 0, 0).pairs == 5);
  CHECK(exact("mask: kv_idx <= q_idx\n", longer, 0, 0, 0).pairs == 1);
}

TEST_CASE("empty rows give 0 and lse -inf") {
  const Tensors taller(6, 2);
  const Row row = exact("mask: kv_idx <= q_pos\n", taller, 0, 0, 3);  // q_pos is -1
  CHECK(row.pairs == 0);
  CHECK(row.o == std::vector<double>(8, 0.0));
  CHECK(row.saves == std::vector<double>{-kInfinity});
  const Tensors none(2, 0);
  CHECK(exact("", none, 1, 1, 1).o == std::vector<double>(8, 0.0));
  CHECK(exact("", none, 1, 1, 1).saves == std::vector<double>{-kInfinity});
}

TEST_CASE("scores of -inf weigh nothing; a row of them is empty") {
  const Tensors t(3, 5);
  const Row masked = exact("mask: kv_idx < 2\n", t, 0, 1, 2);
  const Row minus = exact("score: score if kv_idx < 2 else -inf\n", t, 0, 1, 2);
  CHECK(minus.pairs == 5);
  CHECK(minus.o == masked.o);
  CHECK(minus.saves == masked.saves);
  const Row all = exact("score: score if kv_idx < 0 else -inf\n", t, 0, 1, 2);
  CHECK(all.o == std::vector<double>(8, 0.0));
  CHECK(all.saves == std::vector<double>{-kInfinity});
}

const char* const kSinks = R"(
normalize:
  rows:
    m: max(rowmax(score), sink[h])
    l: rowsum(exp(score - m)) + exp(sink[h] - m)
  weight: exp(score - m)
  output: acc / l
  save: {lse: m + log(l)}
)";

TEST_CASE("sinks are one more key whose value is 0") {
  const Tensors t(2, 3);
  for (int64_t h = 0; h < 4; ++h) {
    double total = std::exp(t.problem.inputs.at("sink")[h]);
    for (int64_t j = 0; j < 3; ++j) total += std::exp(t.score(0, h, 1, j));
    const Row row = exact(kSinks, t, 0, h, 1);
    CHECK(row.saves[0] == doctest::Approx(std::log(total)).epsilon(1e-12));
    double sum = 0;
    for (int64_t j = 0; j < 3; ++j) sum += std::exp(t.score(0, h, 1, j)) * t.value(0, j, h / 2, 5);
    CHECK(row.o[5] == doctest::Approx(sum / total).epsilon(1e-12));
  }
  // An empty row's sum is the sink alone.
  CHECK(exact(kSinks, Tensors(1, 0), 0, 3, 0).saves == std::vector<double>{2.0});
}

TEST_CASE("sigmoid attention is a plain sum") {
  const Tensors t(2, 9);
  const Row row = exact("score: sigmoid(score)\nnormalize: none\n", t, 1, 3, 0);
  double sum = 0;
  for (int64_t j = 0; j < 9; ++j) sum += t.value(1, j, 1, 2) / (1 + std::exp(-t.score(1, 3, 0, j)));
  CHECK(row.o[2] == doctest::Approx(sum).epsilon(1e-12));
}

TEST_CASE("a divisor in the weight or in the output is the same") {
  const std::string rows =
      "normalize:\n  rows: {m: rowmax(score), l: rowsum(exp(score - m))}\n  weight: exp(score - m)";
  const Tensors t(3, 20);
  const Row inside = exact(rows + " / l\n  output: acc\n", t, 0, 0, 2);
  const Row outside = exact(rows + "\n  output: acc / l\n", t, 0, 0, 2);
  for (size_t d = 0; d < 8; ++d) {
    CHECK(inside.o[d] == doctest::Approx(outside.o[d]).epsilon(1e-14));
  }
}

TEST_CASE("inputs are read by their shape, an index beyond it at its nearest element") {
  Tensors t(3, 4);
  t.problem.inputs["doc_id"] = {10, 11, 12, 13, 20, 21, 22, 23};
  const auto sum_of = [&](const std::string& index, int64_t b) {
    return exact("score: doc_id[b, " + index +
                     "] + 0 * score\nnormalize: {rows: {l: "
                     "rowsum(score)}, weight: score, output: acc, save: {l: l}}\n",
                 t, b, 0, 0)
        .saves[0];
  };
  CHECK(sum_of("kv_idx", 0) == 10 + 11 + 12 + 13);
  CHECK(sum_of("kv_idx", 1) == 20 + 21 + 22 + 23);
  CHECK(sum_of("kv_idx + 2", 1) == 22 + 23 + 23 + 23);
  CHECK(sum_of("kv_idx - 3", 1) == 20 + 20 + 20 + 20);
}

spec::Spec with_x(const std::string& shape, const std::string& body) {
  return testing::read_spec(
      "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 4, kv: 2}\nhead_dim: {qk: 16, v: 8}\n"
      "inputs: {x: {dtype: f32, shape: " +
      shape + "}}\n" + body);
}

// Sequences of 2 and 4 keys.
TEST_CASE("an input along packed sequences is read within its own") {
  Tensors t(3, 6);
  t.problem.inputs["cu_seqlens_q"] = {0, 1, 3};
  t.problem.inputs["cu_seqlens_kv"] = {0, 2, 6};
  t.problem.inputs["x"] = {10, 11, 20, 21, 22, 23, 30, 31, 40, 41, 42, 43};
  const auto sum_of = [&](const std::string& index, int64_t b) {
    const spec::Spec spec = with_x("[2, seq_kv]", "varlen: true\nscore: x[" + index +
                                                      "] + 0 * score\nnormalize: {rows: {l: "
                                                      "rowsum(score)}, weight: score, "
                                                      "output: acc, save: {l: l}}\n");
    return Oracle(spec).row(t.problem, b, 0, 0, Arithmetic::Exact).saves[0];
  };
  CHECK(sum_of("0, kv_idx", 0) == 10 + 11);
  CHECK(sum_of("1, kv_idx", 1) == 40 + 41 + 42 + 43);
  CHECK(sum_of("1, kv_idx + 1", 0) == 31 + 31);
  CHECK(sum_of("0, kv_idx - 1", 1) == 20 + 20 + 21 + 22);
}

// Lists of [heads_kv, total_q], which count the keys of their own sequence.
TEST_CASE("the lists of packed sequences are one behind another") {
  Tensors t(3, 6);
  t.problem.inputs["cu_seqlens_q"] = {0, 1, 3};
  t.problem.inputs["cu_seqlens_kv"] = {0, 2, 6};
  t.problem.inputs["token_counts"] = {2, 2, 2, 2, 2, 1};
  t.problem.inputs["token_indices"] = {1, 2, 3, 4, 2, 1, 0, 1, 3, 2, 1, 3};
  const Oracle oracle(with_x("[seq_kv]",
                             "varlen: true\ntokens: {indices: 2}\nscore: kv_idx + 0 * score\n"
                             "normalize: {rows: {l: rowsum(score)}, weight: score, output: acc, "
                             "save: {l: l}}\n"));
  const auto row_of = [&](int64_t b, int64_t h, int64_t q) {
    const Row row = oracle.row(t.problem, b, h, q, Arithmetic::Exact);
    return std::pair(row.pairs, row.saves[0]);
  };
  CHECK(row_of(0, 1, 0) == std::pair<int64_t, double>(1, 1));  // its second key does not exist
  CHECK(row_of(1, 0, 0) == std::pair<int64_t, double>(1, 3));
  CHECK(row_of(1, 1, 1) == std::pair<int64_t, double>(2, 3));
  CHECK(row_of(0, 2, 0) == std::pair<int64_t, double>(2, 1));
  CHECK(row_of(1, 3, 0) == std::pair<int64_t, double>(2, 5));
  CHECK(row_of(1, 2, 1) == std::pair<int64_t, double>(1, 1));
}

TEST_CASE("an element along no keys is 0") {
  Tensors t(3, 0);
  t.problem.inputs["x"] = {};
  const spec::Spec spec =
      with_x("[seq_kv]",
             "normalize: {weight: score, output: \"acc * x[q_pos]\", save: {y: \"x[q_pos]\"}}\n");
  const Row row = Oracle(spec).row(t.problem, 0, 0, 0, Arithmetic::Exact);
  CHECK(row.saves[0] == 0);
  CHECK(row.o[0] == 0);
}

TEST_CASE("storage arithmetic rounds scores, weights and outputs") {
  const Tensors t(4, 50, 7);
  for (const auto dtype : {spec::DType::Bf16, spec::DType::Fp16}) {
    spec::Spec spec = spec_of("mask: kv_idx <= q_pos\n");
    spec.dtype = dtype;
    std::vector<double> scores;
    for (int64_t j = 0; j < 49; ++j) scores.push_back(round_to(dtype, t.score(1, 2, 2, j)));
    const double m = *std::max_element(scores.begin(), scores.end());
    double l = 0;
    for (const double score : scores) l += std::exp(score - m);
    const Row row = Oracle(spec).row(t.problem, 1, 2, 2, Arithmetic::Storage);
    CHECK(row.pairs == 49);
    CHECK(row.saves == std::vector<double>{m + std::log(l)});
    for (int64_t d = 0; d < 8; ++d) {
      double acc = 0;
      for (int64_t j = 0; j < 49; ++j) {
        acc += round_to(dtype, std::exp(scores[j] - m)) * t.value(1, j, 1, d);
      }
      CHECK(row.o[d] == round_to(dtype, acc / l));
    }
  }
}

TEST_CASE("in storage arithmetic products that cancel leave what fp32 sums err") {
  Tensors t(1, 1);
  std::fill(t.q.begin(), t.q.end(), 1.0F);
  for (size_t d = 0; d < t.k.size(); ++d) t.k[d] = d % 2 == 0 ? 1 : -1;
  const spec::Spec spec =
      spec_of("normalize: {rows: {l: rowsum(score)}, weight: score, save: {s: l}}\n");
  const auto sum = [&](Arithmetic arithmetic) {
    return Oracle(spec).row(t.problem, 0, 0, 0, arithmetic).saves[0];
  };
  CHECK(sum(Arithmetic::Exact) == 0);
  CHECK(sum(Arithmetic::Storage) == 0x1p-24 * 16 / 4);
}

// Rows of blocks of 64, of which every other one is kept: as a bitmap and as lists, which name them
// from behind, with one that does not exist before and others, which do not count, after them.
struct Blocks {
  static constexpr int64_t kHeight = 3, kWidth = 4;
  explicit Blocks(int64_t rows) {
    std::mt19937 random(5);
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<double> list;
      for (int64_t j = 0; j < kWidth; ++j) {
        const bool kept = random() % 2 == 0;
        mask.push_back(kept ? 1 + static_cast<double>(j) : 0);
        if (kept) list.insert(list.begin(), static_cast<double>(j));
      }
      if (list.size() < kWidth) list.insert(list.begin(), kWidth);
      counts.push_back(static_cast<double>(list.size()));
      list.resize(kWidth, 1);
      indices.insert(indices.end(), list.begin(), list.end());
    }
  }
  std::vector<double> mask, counts, indices;
};

TEST_CASE("of the blocks of keys a row has those that it keeps") {
  Tensors t(130, 200);
  for (const bool by_key_head : {false, true}) {
    const int64_t heads = by_key_head ? 2 : 4;
    const Blocks blocks(2 * heads * Blocks::kHeight);
    t.problem.inputs["block_mask"] = blocks.mask;
    t.problem.inputs["block_counts"] = blocks.counts;
    t.problem.inputs["block_indices"] = blocks.indices;
    for (const std::string from : {"bitmap", "indices"}) {
      const Oracle oracle(spec_of("blocks: {size: 64, from: " + from +
                                  (by_key_head ? ", per: heads_kv}\n" : "}\n")));
      for (int64_t row = 0; row < 1040; row += 13) {
        const int64_t b = row / 520, h = row / 130 % 4, i = row % 130;
        const int64_t head = b * heads + (by_key_head ? h / 2 : h);
        const int64_t first = (head * Blocks::kHeight + i / 64) * Blocks::kWidth;
        int64_t pairs = 0;
        double l = 0, acc = 0;
        for (int64_t j = 0; j < 200; ++j) {
          if (blocks.mask[first + j / 64] == 0) continue;
          const double weight = std::exp(t.score(b, h, i, j));
          ++pairs;
          l += weight;
          acc += weight * t.value(b, j, h / 2, 5);
        }
        const Row got = oracle.row(t.problem, b, h, i, Arithmetic::Exact);
        CHECK(got.pairs == pairs);
        CHECK(got.o[5] == doctest::Approx(pairs == 0 ? 0 : acc / l).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("blocks of single queries, and lists that name two") {
  Tensors t(6, 200);
  constexpr int64_t kRows = 48;  // of 2 batches, 4 heads and 6 queries
  std::vector<double> counts, indices;
  for (int64_t row = 0; row < kRows; ++row) {
    counts.push_back(static_cast<double>(row % 4));  // of which two are read
    indices.insert(indices.end(), {static_cast<double>(row % 3), 3.0});
  }
  t.problem.inputs["block_counts"] = counts;
  t.problem.inputs["block_indices"] = indices;
  const Oracle oracle(spec_of("blocks: {size: 64, queries: 1, from: indices, most: 2}\n"));
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t b = row / 24, h = row / 6 % 4, i = row % 6;
    const int64_t pairs = row % 4 == 0 ? 0 : row % 4 == 1 ? 64 : 64 + 8;
    CHECK(oracle.row(t.problem, b, h, i, Arithmetic::Exact).pairs == pairs);
  }
}

TEST_CASE("of the keys of a list those that exist, and one that stands twice counts twice") {
  Tensors t(6, 200);
  constexpr int64_t kRows = 24;  // of 2 batches, 2 key heads and 6 queries
  std::vector<double> counts, indices;
  for (int64_t row = 0; row < kRows; ++row) {
    counts.push_back(static_cast<double>(row % 8));  // of which six are read
    indices.insert(indices.end(), {-1, 7, 199, 200, 7, 40 + static_cast<double>(row)});
  }
  t.problem.inputs["token_counts"] = counts;
  t.problem.inputs["token_indices"] = indices;
  const Oracle oracle(spec_of("tokens: {indices: 6}\nmask: kv_idx != 199\n"));
  for (int64_t row = 0; row < 2 * kRows; ++row) {
    const int64_t b = row / 24, h = row / 6 % 4, i = row % 6, list = (b * 2 + h / 2) * 6 + i;
    const std::vector<int64_t> keys{7, 7, 40 + list};
    const std::vector<size_t> read{0, 0, 1, 1, 1, 2, 3, 3};
    double l = 0, acc = 0;
    for (size_t k = 0; k < read[static_cast<size_t>(list % 8)]; ++k) {
      const double weight = std::exp(t.score(b, h, i, keys[k]));
      l += weight;
      acc += weight * t.value(b, keys[k], h / 2, 5);
    }
    const Row got = oracle.row(t.problem, b, h, i, Arithmetic::Exact);
    CHECK(got.pairs == static_cast<int64_t>(read[static_cast<size_t>(list % 8)]));
    CHECK(got.o[5] == doctest::Approx(l == 0 ? 0 : acc / l).epsilon(1e-12));
  }
}

TEST_CASE("values that are the keys' first columns") {
  const Tensors t(5, 7);
  Tensors beside = t;  // the same as values of their own
  beside.problem.v = {t.k.data(), 224, 32, 16};
  const std::string mask = "mask: kv_idx <= q_pos\n";
  const Row row = exact(mask + "share_kv: {v_prefix: 8}\n", t, 1, 3, 2);
  CHECK(row.o == exact(mask, beside, 1, 3, 2).o);
  CHECK(row.o != exact(mask, t, 1, 3, 2).o);
}

// Sequences of 70 queries and 130 keys, and of 130 and 200, in one of 200 and 330.
struct PackedBlocks {
  Tensors t{200, 330};
  static constexpr int64_t kQueries = 200, kBegins[] = {0, 70, 200}, kKeys[] = {130, 200};

  explicit PackedBlocks(int64_t elements) {
    t.problem.inputs["cu_seqlens_q"] = {0, 70, 200};
    t.problem.inputs["cu_seqlens_kv"] = {0, 130, 330};
    std::mt19937 random(6);
    std::vector<double>& mask = t.problem.inputs["block_mask"];
    for (int64_t i = 0; i < elements; ++i) mask.push_back(random() % 2 == 0 ? 1 : 0);
  }
  bool keeps(int64_t element) const { return t.problem.inputs.at("block_mask")[element] != 0; }
  // Calls `check` of a query, and of how many pairs the oracle finds.
  template <typename Check>
  void for_rows(const std::string& blocks, const Check& check) const {
    const Oracle oracle(with_x("[heads]", "varlen: true\nblocks: " + blocks + "\n"));
    for (int64_t row = 0; row < 4 * kQueries; row += 7) {
      const int64_t h = row / kQueries, query = row % kQueries;
      const int64_t b = query < kBegins[1] ? 0 : 1, i = query - kBegins[b];
      check(b, h, i, oracle.row(t.problem, b, h, i, Arithmetic::Exact).pairs);
    }
  }
};

TEST_CASE("blocks of packed sequences count within each, and keep nothing beyond their tensors") {
  for (const auto& [max_q, max_kv] : {std::pair<int64_t, int64_t>{150, 300}, {60, 128}}) {
    const int64_t height = (max_q + 63) / 64, width = (max_kv + 63) / 64;
    PackedBlocks blocks(8 * height * width);
    blocks.t.problem.inputs["max_seq_q"] = {static_cast<double>(max_q)};
    blocks.t.problem.inputs["max_seq_kv"] = {static_cast<double>(max_kv)};
    blocks.for_rows("{size: 64, from: bitmap}", [&](int64_t b, int64_t h, int64_t i, int64_t got) {
      int64_t pairs = 0;
      for (int64_t j = 0; j < PackedBlocks::kKeys[b]; ++j) {
        const bool beyond = i / 64 >= height || j / 64 >= width;
        if (!beyond && blocks.keeps(((b * 4 + h) * height + i / 64) * width + j / 64)) ++pairs;
      }
      CHECK(got == pairs);
    });
  }
}

TEST_CASE("packed queries that choose for themselves") {
  PackedBlocks blocks(2 * PackedBlocks::kQueries * 5);
  blocks.t.problem.inputs["max_seq_kv"] = {300};
  const std::string one = "{size: 64, queries: 1, from: bitmap, per: heads_kv}";
  blocks.for_rows(one, [&](int64_t b, int64_t h, int64_t i, int64_t got) {
    const int64_t row = h / 2 * PackedBlocks::kQueries + PackedBlocks::kBegins[b] + i;
    int64_t pairs = 0;
    for (int64_t j = 0; j < PackedBlocks::kKeys[b]; ++j) {
      if (blocks.keeps(row * 5 + j / 64)) ++pairs;
    }
    CHECK(got == pairs);
  });
}

TEST_CASE("packed lists of a known length name blocks of any sequence") {
  PackedBlocks lists(0);
  std::vector<double>& counts = lists.t.problem.inputs["block_counts"];
  std::vector<double>& indices = lists.t.problem.inputs["block_indices"];
  for (int64_t row = 0; row < 4 * PackedBlocks::kQueries; ++row) {
    counts.push_back(2);
    indices.insert(indices.end(), {static_cast<double>(row % 2), 3.0});
  }
  lists.for_rows("{size: 64, queries: 1, from: indices, most: 2}",
                 [&](int64_t b, int64_t, int64_t, int64_t got) {
                   CHECK(got == (b == 0 ? 64 : 64 + 8));  // of 130 keys none is in block 3
                 });
}

TEST_CASE("bf16 rounding is that of the upper half of a float, ties to even") {
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    // Many bit patterns, with ties often among them.
    auto bits = static_cast<uint32_t>(random());
    if (i % 4 == 0) bits = (bits & 0xFFFF0000U) | 0x8000U;
    if (i % 8 == 1) bits &= 0x807FFFFFU;  // subnormal
    const float x = std::bit_cast<float>(bits);
    if (!std::isfinite(x)) continue;
    const uint32_t upper = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) & 0xFFFF0000U;
    const double rounded = round_to(spec::DType::Bf16, x);
    if (rounded != static_cast<double>(std::bit_cast<float>(upper))) {
      FAIL("bits " << bits << " give " << rounded);
    }
  }
}

TEST_CASE("fp16 rounding") {
  const auto fp16 = [](double x) { return round_to(spec::DType::Fp16, x); };
  // Every finite fp16 is itself; the midpoints between neighbours go to the even one.
  for (int bits = 0; bits < 0x7BFF; ++bits) {
    const auto value = [](int pattern) {
      const int exponent = pattern >> 10;
      const int fraction = pattern & 0x3FF;
      return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    };
    const double low = value(bits);
    const double high = value(bits + 1);
    const double even = bits % 2 == 0 ? low : high;
    if (fp16(low) != low || fp16((low + high) / 2) != even || fp16(-(low + high) / 2) != -even ||
        fp16(std::nextafter((low + high) / 2, 0)) != low) {
      FAIL("pattern " << bits);
    }
  }
  CHECK(fp16(65504) == 65504);
  CHECK(fp16(65519.99) == 65504);
  CHECK(fp16(65520) == kInfinity);
  CHECK(fp16(-1e9) == -kInfinity);
  CHECK(std::isnan(fp16(std::nan(""))));
  CHECK(round_to(spec::DType::Bf16, 3.4e38) == kInfinity);
}

}  // namespace
}  // namespace attngen::attention
