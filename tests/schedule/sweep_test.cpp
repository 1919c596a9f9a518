// The search against measured times: tests/data/h200_sweep.json, by scripts/sweep_gpu.py. Every
// second point is marked as held out: no constant of the model was chosen with a look at it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "attention/row_form.h"
#include "schedule/read.h"
#include "schedule/search.h"
#include "spec/read.h"
#include "target/target.h"

namespace attngen::schedule {
namespace {

using nlohmann::json;

struct Measured {
  double measured = 0, predicted = 0;  // microseconds
};

struct Point {
  double fastest = 0;            // of all that were measured, whether or not they are still ranked
  std::vector<Measured> ranked;  // as the search ranks them; every one was measured
};

Point predict(const json& point, const target::Target& target) {
  json text = point.at("spec");
  text["workload"] = json::array({point.at("workload")});
  text::Diagnostics diagnostics({"point.json", text.dump()});
  const auto spec = spec::read(diagnostics);
  REQUIRE_MESSAGE(spec.has_value(), diagnostics.render(text::ErrorFormat::Gcc));
  const auto rows = attention::derive_row_form(spec->normalize);
  REQUIRE(std::holds_alternative<attention::RowForm>(rows));
  std::map<std::string, double> measured;
  for (const json& entry : point.at("schedules")) {
    text::Diagnostics written({"schedule.json", entry.at("schedule").dump()});
    const auto schedule = read(written);
    REQUIRE_MESSAGE(schedule.has_value(), written.render(text::ErrorFormat::Gcc));
    measured[to_json(*schedule)] = entry.at("microseconds").get<double>();
  }
  REQUIRE_FALSE(measured.empty());
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  Point result{std::min_element(measured.begin(), measured.end(), by_time)->second, {}};
  const Kernel kernel = describe_kernel(*spec, std::get<attention::RowForm>(rows));
  for (const Candidate& c : search(kernel, target).ranked) {
    const auto found = measured.find(to_json(c.schedule));
    CAPTURE(describe(c.schedule));
    REQUIRE(found != measured.end());
    result.ranked.push_back({found->second, c.cost.seconds * 1e6});
  }
  REQUIRE_FALSE(result.ranked.empty());
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<double>(i);
  return result;
}

// Spearman's: 1 for the same order.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ra = ranks(a), rb = ranks(b);
  double squares = 0;
  for (size_t i = 0; i < ra.size(); ++i) squares += (ra[i] - rb[i]) * (ra[i] - rb[i]);
  const double n = static_cast<double>(ra.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

struct Verdict {
  std::vector<double> regret, correlation, error;  // one a point; error: of the median schedule

  void add(const Point& point) {
    regret.push_back(point.ranked.front().measured / point.fastest);
    std::vector<double> measured, predicted, errors;
    for (const Measured& m : point.ranked) {
      measured.push_back(m.measured);
      predicted.push_back(m.predicted);
      errors.push_back(std::abs(m.predicted / m.measured - 1));
    }
    correlation.push_back(rank_correlation(measured, predicted));
    error.push_back(median(errors));
  }
};

}  // namespace

TEST_CASE("of all schedules the search chooses nearly the fastest") {
  std::ifstream file(ATTNGEN_SOURCE_DIR "/tests/data/h200_sweep.json");
  const json sweep = json::parse(file);
  const target::Target* h200 = target::find("h200");
  REQUIRE(h200 != nullptr);
  Verdict fitted, held_out;
  for (const json& point : sweep.at("points")) {
    CAPTURE(point.at("spec").at("name").get<std::string>());
    CAPTURE(point.at("workload").dump());
    (point.at("holdout").get<bool>() ? held_out : fitted).add(predict(point, *h200));
  }
  for (const Verdict* verdict : {&fitted, &held_out}) {
    const std::string points = verdict == &held_out ? "held out" : "fitted";
    REQUIRE(verdict->regret.size() >= 12);
    const double mean = std::accumulate(verdict->regret.begin(), verdict->regret.end(), 0.0) /
                        static_cast<double>(verdict->regret.size());
    const double worst = *std::max_element(verdict->regret.begin(), verdict->regret.end());
    const double correlation = median(verdict->correlation);
    const double error = median(verdict->error);
    MESSAGE(points, ": chosen over fastest ", mean, " in the mean, ", worst,
            " at worst; rank correlation ", correlation, ", error of the time ", error,
            " in the median of ", verdict->regret.size(), " points");
    CHECK(mean <= 1.008);
    CHECK(worst <= 1.05);
    CHECK(correlation >= 0.85);
    CHECK(error <= 0.15);
  }
}

}  // namespace attngen::schedule
