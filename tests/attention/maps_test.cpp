// Two maps of scores over one V: the oracle against sums that are written out here.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../variant_specs.h"
#include "attention/oracle.h"
#include "support.h"

namespace attngen::attention {
namespace {

constexpr const char* kMapsHeader =
    "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 4, kv: 2}\nhead_dim: {qk: 16, v: 8}\n";

spec::Spec read_maps(const std::string& text) {
  text::Diagnostics diagnostics({"spec.yaml", text});
  auto spec = spec::read(diagnostics);
  REQUIRE_MESSAGE(spec.has_value(), diagnostics.render(text::ErrorFormat::Gcc));
  return *spec;
}

// Contiguous [batch, seq, heads, dim]: q of 2 x 4 heads, k of 2 x 2, v of 2.
struct MapsData {
  static constexpr int64_t kBatch = 2, kHeads = 4, kHeadsKv = 2, kDimQk = 16, kDimV = 8;

  MapsData(int64_t seq_q, int64_t seq_kv) : lengths{seq_q, seq_kv} {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    const auto fill = [&](std::vector<float>& x, int64_t elements) {
      for (int64_t i = 0; i < elements + 1; ++i) {
        x.push_back(static_cast<float>(round_to(spec::DType::Bf16, normal(random))));
      }
    };
    fill(q, kBatch * seq_q * 2 * kHeads * kDimQk);
    fill(k, kBatch * seq_kv * 2 * kHeadsKv * kDimQk);
    fill(v, kBatch * seq_kv * kHeadsKv * kDimV);
    problem = {kBatch,
               seq_q,
               seq_kv,
               {q.data(), seq_q * 2 * kHeads * kDimQk, 2 * kHeads * kDimQk, kDimQk},
               {k.data(), seq_kv * 2 * kHeadsKv * kDimQk, 2 * kHeadsKv * kDimQk, kDimQk},
               {v.data(), seq_kv * kHeadsKv * kDimV, kHeadsKv * kDimV, kDimV},
               {}};
    problem.inputs["lambda"] = {0.8, -0.3, 0.25, 1.5};
  }
  double lambda(int64_t h) const { return problem.inputs.at("lambda")[static_cast<size_t>(h)]; }
  // The scaled product of map `map` of head h.
  double score(int64_t b, int64_t h, int64_t map, int64_t i, int64_t j) const {
    const int64_t query = (b * lengths[0] + i) * 8 + h * 2 + map;
    const int64_t key = (b * lengths[1] + j) * 4 + h / 2 * 2 + map;
    double sum = 0;
    for (int64_t d = 0; d < kDimQk; ++d) {
      sum += double{q[static_cast<size_t>(query * kDimQk + d)]} *
             k[static_cast<size_t>(key * kDimQk + d)];
    }
    return sum / 4;
  }
  double value(int64_t b, int64_t h, int64_t j, int64_t d) const {
    return v[static_cast<size_t>(((b * lengths[1] + j) * kHeadsKv + h / 2) * kDimV + d)];
  }
  int64_t lengths[2];
  std::vector<float> q, k, v;
  Problem problem;
};

TEST_CASE("differential attention is the difference of two softmax maps") {
  const spec::Spec spec = read_maps(attngen::testing::with_header(
      kMapsHeader, attngen::testing::variant_files().at("differential")));
  const Oracle oracle(spec);
  for (const auto& [seq_q, seq_kv] :
       {std::pair<int64_t, int64_t>{9, 9}, {3, 40}, {12, 7}, {1, 1}}) {
    const MapsData data(seq_q, seq_kv);
    for (int64_t b = 0; b < MapsData::kBatch; ++b) {
      for (int64_t h = 0; h < MapsData::kHeads; ++h) {
        for (int64_t i = 0; i < seq_q; ++i) {
          const int64_t keys = std::max<int64_t>(0, i + seq_kv - seq_q + 1);  // causal
          const Row row = oracle.row(data.problem, b, h, i, Arithmetic::Exact);
          CHECK(row.pairs == keys);
          std::vector<double> total(2, 0.0);
          for (int64_t j = 0; j < keys; ++j) {
            for (int64_t map : {0, 1}) {
              total[static_cast<size_t>(map)] += std::exp(data.score(b, h, map, i, j));
            }
          }
          REQUIRE(row.saves.size() == 2);
          for (size_t map : {0, 1}) {
            if (keys == 0) {
              CHECK(row.saves[map] == -std::numeric_limits<double>::infinity());
            } else {
              CHECK(row.saves[map] == doctest::Approx(std::log(total[map])).epsilon(1e-12));
            }
          }
          for (int64_t d = 0; d < MapsData::kDimV; ++d) {
            double expected = 0;
            for (int64_t j = 0; j < keys; ++j) {
              const double weight = std::exp(data.score(b, h, 0, i, j)) / total[0] -
                                    data.lambda(h) * std::exp(data.score(b, h, 1, i, j)) / total[1];
              expected += weight * data.value(b, h, j, d);
            }
            CHECK(row.o[static_cast<size_t>(d)] == doctest::Approx(expected).epsilon(1e-12));
          }
        }
      }
    }
  }
}

TEST_CASE("score, rows, weight, output and saved values may read the map") {
  const spec::Spec spec = read_maps(
      std::string(kMapsHeader) +
      "maps: 2\nscore: score + map\nnormalize:\n  rows: {l: rowsum(abs(score)) + map}\n"
      "  weight: score * (1 + map)\n  output: acc * (map + 0.5)\n  save: {total: l, which: map}\n");
  const MapsData data(2, 5);
  const Row row = Oracle(spec).row(data.problem, 1, 3, 1, Arithmetic::Exact);
  std::vector<double> o(MapsData::kDimV, 0.0), totals;
  for (int64_t map : {0, 1}) {
    const auto m = static_cast<double>(map);
    totals.push_back(m);
    for (int64_t j = 0; j < 5; ++j) {
      const double score = data.score(1, 3, map, 1, j) + m;
      totals.back() += std::abs(score);
      for (int64_t d = 0; d < MapsData::kDimV; ++d) {
        o[static_cast<size_t>(d)] += score * (1 + m) * data.value(1, 3, j, d) * (m + 0.5);
      }
    }
  }
  for (size_t d = 0; d < MapsData::kDimV; ++d)
    CHECK(row.o[d] == doctest::Approx(o[d]).epsilon(1e-12));
  REQUIRE(row.saves.size() == 4);  // all of map 0, then all of map 1
  CHECK(row.saves[0] == doctest::Approx(totals[0]).epsilon(1e-12));
  CHECK(row.saves[1] == 0);
  CHECK(row.saves[2] == doctest::Approx(totals[1]).epsilon(1e-12));
  CHECK(row.saves[3] == 1);
}

TEST_CASE("in the storage type each map's output and their sum are rounded") {
  const spec::Spec spec = read_maps(std::string(kMapsHeader) + "maps: 2\n");
  const MapsData data(3, 20);
  const Row row = Oracle(spec).row(data.problem, 0, 2, 1, Arithmetic::Storage);
  for (const double o : row.o) CHECK(o == round_to(spec::DType::Bf16, o));
}

}  // namespace
}  // namespace attngen::attention
