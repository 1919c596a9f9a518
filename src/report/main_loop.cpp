#include "report/main_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/markup.h"
#include "report/pipes.h"

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Cost;

constexpr double kBar = 12, kGap = 2, kBetween = 12;  // px

std::string legend_item(const char* style, const char* role, const Candidate& c) {
  return fmt::format("<li class=\"{}\">{}, {}×{}</li>\n", style, role, c.schedule.tile_q(),
                     c.schedule.tile_kv);
}

// The bars of one schedule, from the top.
struct Series {
  const char* style;
  std::vector<double> clk;  // by pipe, then the whole step
};

std::vector<double> clocks_of(const Candidate& c, double scale) {
  std::vector<double> clk;
  for (const Pipe& pipe : pipes_of(c.cost)) clk.push_back(scale * pipe.clk);
  clk.push_back(scale * step_length(c.cost));
  return clk;
}

std::string bars(const Series& series, double longest, double top, double pitch) {
  std::string text = fmt::format("<g class=\"{}\">\n", series.style);
  for (size_t i = 0; i < series.clk.size(); ++i) {
    const double y = top + pitch * static_cast<double>(i);
    const double clk = series.clk[i];
    const bool whole = i + 1 == series.clk.size();
    text += fmt::format(
        "<rect y=\"{0}\" width=\"{1}\" height=\"{2}\"/><text x=\"{1}\" y=\"{3}\" dx=\"6\">{4:.0f}"
        "<tspan class=\"share\"> clk{5}</tspan></text>\n",
        y, across(clk / longest), kBar, y + kBar - 2, clk,
        whole ? "" : fmt::format(", {:.0f} %", 100 * clk / series.clk.back()));
  }
  return text + "</g>\n";
}

std::string labels(const Cost& cost, double pitch, double group) {
  std::vector<std::string> names;
  for (const Pipe& pipe : pipes_of(cost)) names.emplace_back(pipe.name);
  names.emplace_back("the whole step");
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("<text{} x=\"-10\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                        i + 1 == names.size() ? " class=\"strong\"" : "",
                        pitch * static_cast<double>(i) + group / 2 + 4, names[i]);
  }
  return text;
}

}  // namespace

std::string main_loop(const Candidate& first, const Candidate* next) {
  std::vector<Series> series{{"first", clocks_of(first, 1)}};
  if (next != nullptr) {
    series.push_back({"next", clocks_of(*next, pairs_of_step(first) / pairs_of_step(*next))});
  }
  double longest = 1;
  for (const Series& s : series) longest = std::max(longest, s.clk.back());
  const double group =
      kBar * static_cast<double>(series.size()) + kGap * static_cast<double>(series.size() - 1);
  const double pitch = group + kBetween;
  const double height = pitch * static_cast<double>(series.front().clk.size()) - kBetween;
  std::string text = "<figure>\n<ul class=\"legend\">\n" + legend_item("first", "First", first);
  if (next != nullptr) text += legend_item("next", "Runner-up", *next);
  text += fmt::format(
      "</ul>\n<svg class=\"pipes\" height=\"{0}\" role=\"group\" aria-label=\"Clocks of a step "
      "by "
      "pipe\">\n<line x1=\"0\" x2=\"0\" y1=\"-4\" y2=\"{1}\"/>\n",
      height, height + 4);
  text += labels(first.cost, pitch, group);
  for (size_t i = 0; i < series.size(); ++i) {
    text += bars(series[i], longest, (kBar + kGap) * static_cast<double>(i), pitch);
  }
  return text + "</svg>\n</figure>\n";
}

}  // namespace attngen::report
