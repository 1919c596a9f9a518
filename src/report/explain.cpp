#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "report/assumptions.h"
#include "report/functions.h"
#include "report/rejections.h"
#include "report/why.h"

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Cost;
using schedule::Rejection;
using schedule::Schedule;

constexpr size_t kLineLength = 100;

// Words, broken to lines of at most kLineLength; lines after the first are indented.
std::string wrap(std::string_view text, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (text.substr(end).starts_with(" %")) {  // stays with its number
      end = std::min(text.find(' ', end + 1), text.size());
    }
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + 1 + word.size() > kLineLength) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\n";
}

std::string wrap_lines(std::string_view lines, size_t indent) {
  std::string out;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    out += wrap(lines.substr(0, end), indent);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

std::string heading(const spec::Spec& spec, const target::Target& target) {
  std::string text = wrap(
      fmt::format("{} on {}: {}, model {}", spec.name, target.name, target.title, target.hash), 4);
  for (const spec::Workload& w : spec.workload) {
    text += wrap(fmt::format("workload: {}, weight {}", text_of(w), w.weight), 4);
  }
  return text;
}

constexpr std::string_view kTitles =
    "rank tile    stages weights   overlap   grid       order     time us TFLOP/s bound by"
    "      registers\n";

// At most nine characters, whatever the value.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return us < 1e7 ? fmt::format("{:.1f}", us) : fmt::format("{:.3e}", us);
}

// Of a warpgroup's own work, of several warpgroups', or of both.
const char* overlap_of(const Schedule& s) {
  if (s.overlap == schedule::Overlap::None) return s.ping_pong ? "ping-pong" : "none";
  return s.ping_pong ? "both" : "intra";
}

// What else is special about tiles.
constexpr std::pair<char, const char*> kMarks[] = {
    {'*', "with the query heads of a key head packed into the tile"},
    {'+', "with the keys of a tile split"},
    {'#', "with both"}};
char mark_of(const Schedule& s) {
  if (s.pack_heads) return s.split_keys ? '#' : '*';
  return s.split_keys ? '+' : ' ';
}

std::string line(size_t rank, const Candidate& candidate) {
  const Schedule& s = candidate.schedule;
  const Cost& cost = candidate.cost;
  return fmt::format("{:>4} {:<7}{}{:>6} {:<9} {:<9} {:<10} {:<7} {:>9} {:>7.1f} {:<13} {:>9}\n",
                     rank, fmt::format("{}x{}", s.tile_q(), s.tile_kv), mark_of(s), s.stages,
                     name_of(s.weights), overlap_of(s), name_of(s.grid),
                     s.order == schedule::Order::Linear ? "linear" : "longest",
                     microseconds(cost.seconds), cost.flop_per_s * 1e-12, bound_name(cost),
                     candidate.resources.register_need);
}

std::string rejections(const std::vector<Rejection>& rejected) {
  std::string text = "Rejected, with the nearest miss of each reason:\n";
  for (const RejectionGroup& group : grouped(rejected)) {
    text += wrap(fmt::format("{}: {} ({})", count_of(group), group.nearest->reason,
                             describe(group.nearest->schedule)),
                 4);
  }
  return text;
}

}  // namespace

std::string explain(const spec::Spec& spec, const target::Target& target,
                    const schedule::Ranking& ranking, size_t limit) {
  const Candidate first = ranking.ranked.empty() ? Candidate{} : ranking.ranked.front();
  const std::string functions =
      functions_text(spec, target.family, first.schedule, first.resources.forms);
  std::string text = heading(spec, target) + wrap_lines(functions, 4);
  for (const std::string& assumed : assumptions(spec, target.family)) text += wrap(assumed, 4);
  if (ranking.ranked.empty() && ranking.rejected.size() == 1) {
    const Rejection& only = ranking.rejected.front();
    const std::string title = ranking.of_given ? fmt::format("The given schedule does not fit: {}",
                                                             describe(only.schedule))
                                               : "No schedule fits";
    return text + "\n" + wrap(title + ": " + only.reason, 4);
  }
  if (ranking.ranked.empty()) {
    text += "\nNo schedule fits.\n";
  } else {
    const std::vector<size_t> best = best_of_shapes(ranking.ranked);
    const size_t count = ranking.ranked.size();
    text += ranking.of_given ? "\nThe given schedule:\n"
            : count == 1     ? "\n1 schedule fits:\n"
                         : fmt::format("\n{} schedules fit; the fastest of each shape:\n", count);
    text += kTitles;
    for (size_t i = 0; i < std::min(limit, best.size()); ++i) {
      text += line(best[i] + 1, ranking.ranked[best[i]]);
    }
    if (best.size() > limit) text += fmt::format("     and {} more shapes\n", best.size() - limit);
    for (const auto& [mark, meaning] : kMarks) {
      if (std::ranges::any_of(ranking.ranked, [mark = mark](const Candidate& c) {
            return mark_of(c.schedule) == mark;
          })) {
        text += fmt::format("     {} {}\n", mark, meaning);
      }
    }
    if (std::ranges::any_of(ranking.ranked,
                            [](const Candidate& c) { return c.cost.states_seconds > 0; })) {
      text += "     TFLOP/s count products of keys far behind, which come as a state\n";
    }
    if (const double scan = first.cost.scan.seconds; scan > 0) {
      text += fmt::format("     of tiles; the workload's first point goes by a scan: {} us\n",
                          microseconds(scan));
    }
    text += "\n" + wrap(why_first(ranking, spec), 0);
  }
  if (!ranking.rejected.empty()) text += "\n" + rejections(ranking.rejected);
  return text;
}

}  // namespace attngen::report
