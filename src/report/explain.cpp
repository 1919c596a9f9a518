#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <vector>

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Cost;
using schedule::Rejection;
using schedule::Schedule;

constexpr size_t kColumns = 100;

// Words, broken to lines of at most kColumns; lines after the first are indented.
std::string wrap(std::string_view text, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + 1 + word.size() > kColumns) {
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

std::string heading(const spec::Spec& spec, const target::Target& target) {
  std::string text =
      fmt::format("{} on {}: {}, model {}\n", spec.name, target.name, target.title, target.hash);
  for (const spec::Workload& w : spec.workload) {
    text += fmt::format("workload: batch {}, seq_q {}, seq_kv {}, weight {}\n", w.batch, w.seq_q,
                        w.seq_kv, w.weight);
  }
  return text;
}

constexpr std::string_view kTitles =
    "rank tile    stages weights   overlap turns grid       order     time us TFLOP/s bound by"
    "       regs\n";

// At most nine characters, whatever the value.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return us < 1e7 ? fmt::format("{:.1f}", us) : fmt::format("{:.3e}", us);
}

std::string line(size_t rank, const Candidate& candidate) {
  const Schedule& s = candidate.schedule;
  const Cost& cost = candidate.cost;
  return fmt::format(
      "{:>4} {:<7} {:>6} {:<9} {:<7} {:<5} {:<10} {:<7} {:>9} {:>7.1f} {:<13} {:>5}\n", rank,
      fmt::format("{}x{}", s.tile_q(), s.tile_kv), s.stages, name_of(s.weights),
      s.overlap == schedule::Overlap::None ? "none" : "intra", s.ping_pong ? "yes" : "no",
      name_of(s.grid), s.order == schedule::Order::Linear ? "linear" : "longest",
      microseconds(cost.seconds), cost.flop_per_s * 1e-12, name_of(cost.bound),
      candidate.resources.register_need);
}

// Candidates that differ in more than how they run on the grid.
using Shape = std::tuple<int, int, schedule::Place, schedule::Overlap>;
Shape shape_of(const Schedule& s) { return {s.warpgroups, s.tile_kv, s.weights, s.overlap}; }

// Indices of the fastest candidate of each shape.
std::vector<size_t> best_of_shapes(const std::vector<Candidate>& ranked) {
  std::vector<size_t> best;
  for (size_t i = 0; i < ranked.size(); ++i) {
    const bool seen = std::any_of(best.begin(), best.end(), [&](size_t b) {
      return shape_of(ranked[b].schedule) == shape_of(ranked[i].schedule);
    });
    if (!seen) best.push_back(i);
  }
  return best;
}

std::string why_first(const std::vector<Candidate>& ranked, const std::vector<size_t>& best) {
  const Candidate& first = ranked.front();
  const Cost& c = first.cost;
  const auto share = [&](double clk) { return c.step_clk > 0 ? 100 * clk / c.step_clk : 0; };
  std::string text = fmt::format(
      "First: {}. A step of {} keys takes {:.0f} clk; busy in it are the tensor cores {:.0f} %, "
      "the "
      "special units {:.0f} %, the arithmetic pipes {:.0f} %, shared memory {:.0f} %, L2 {:.0f} %, "
      "memory {:.0f} %. A tile takes {:.0f} clk beyond its steps; there are {:.2f} tiles a core.",
      describe(first.schedule), first.schedule.tile_kv, c.step_clk, share(c.matrix_clk),
      share(c.special_clk), share(c.issue_clk), share(c.shared_clk), share(c.l2_clk),
      share(c.memory_clk), c.fixed_clk, c.waves);
  if (best.size() > 1) {
    const Candidate& next = ranked[best[1]];
    text +=
        fmt::format(" The next shape, {}x{}, is predicted {:.1f} % slower.", next.schedule.tile_q(),
                    next.schedule.tile_kv, 100 * (next.cost.seconds / c.seconds - 1));
  }
  const schedule::Resources& r = first.resources;
  text +=
      fmt::format(" It needs {} of {} registers a consumer thread and {} bytes of shared memory.",
                  r.register_need, r.consumer_registers, r.shared_bytes);
  return wrap(text, 0);
}

std::string without_numbers(std::string_view reason) {
  std::string text;
  for (const char c : reason) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) text += c;
  }
  return text;
}

// The first number of a reason: what the schedule needs.
long need_of(const std::string& reason) {
  const size_t at = reason.find_first_of("0123456789");
  return at == std::string::npos ? 0 : std::strtol(reason.c_str() + at, nullptr, 10);
}

// Reasons that differ in their numbers alone make a group; its nearest miss stands for it.
struct Group {
  std::string kind;
  size_t count = 0;
  const Rejection* nearest = nullptr;
};

std::vector<Group> grouped(const std::vector<Rejection>& rejected) {
  std::vector<Group> groups;
  for (const Rejection& rejection : rejected) {
    const std::string kind = without_numbers(rejection.reason);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.kind == kind; });
    if (group == groups.end()) group = groups.insert(groups.end(), {kind, 0, &rejection});
    ++group->count;
    if (need_of(rejection.reason) < need_of(group->nearest->reason)) group->nearest = &rejection;
  }
  return groups;
}

std::string rejections(const std::vector<Rejection>& rejected) {
  std::string text = "Rejected, with the nearest miss of each reason:\n";
  for (const Group& group : grouped(rejected)) {
    text += wrap(fmt::format("{}x {} ({})", group.count, group.nearest->reason,
                             describe(group.nearest->schedule)),
                 4);
  }
  return text;
}

}  // namespace

std::string explain(const spec::Spec& spec, const target::Target& target,
                    const schedule::Ranking& ranking, size_t limit) {
  std::string text = heading(spec, target);
  if (ranking.ranked.empty() && ranking.rejected.size() == 1) {
    return text + "\nNo schedule fits: " + ranking.rejected.front().reason + "\n";
  }
  if (ranking.ranked.empty()) {
    text += "\nNo schedule fits.\n";
  } else {
    const std::vector<size_t> best = best_of_shapes(ranking.ranked);
    text += fmt::format("\n{} schedules fit; the fastest of each shape:\n", ranking.ranked.size());
    text += kTitles;
    for (size_t i = 0; i < std::min(limit, best.size()); ++i) {
      text += line(best[i] + 1, ranking.ranked[best[i]]);
    }
    if (best.size() > limit) text += fmt::format("     and {} more shapes\n", best.size() - limit);
    text += "\n" + why_first(ranking.ranked, best);
  }
  if (!ranking.rejected.empty()) text += "\n" + rejections(ranking.rejected);
  return text;
}

}  // namespace attngen::report
