#include "report/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/lack.h"
#include "report/pipes.h"

namespace attngen::report {
namespace {

using schedule::Bound;
using schedule::Candidate;
using schedule::Cost;
using schedule::Schedule;

using Shape = std::tuple<int, int, schedule::Place, schedule::Overlap, bool>;
Shape shape_of(const Schedule& s) {
  return {s.warpgroups, s.tile_kv, s.weights, s.overlap, s.pack_heads};
}

std::string bound_of(const Cost& cost) {
  if (cost.bound == Bound::Latency) {
    return "It is bound by latency: no pipe is busy for three quarters of the kernel's time.";
  }
  return fmt::format("It is bound by {}.",
                     pipes_of(cost)[static_cast<size_t>(cost.bound)].with_article());
}

std::string step_of(const Candidate& c) {
  std::vector<std::string> shares;
  for (const Pipe& pipe : pipes_of(c.cost)) {
    shares.push_back(
        fmt::format("{} {:.0f} %", pipe.with_article(), 100 * pipe.clk / step_length(c.cost)));
  }
  return fmt::format("A step of {} keys takes {:.0f} clk; busy in it are {}.", c.schedule.tile_kv,
                     step_length(c.cost), fmt::join(shares, ", "));
}

std::string core_time_of(const Cost& c, size_t points) {
  const double ends = c.core_clk > 0 ? c.waves * c.fixed_clk / c.core_clk : 0;
  return fmt::format(
      "Of a core's time{} {:.0f} % are steps, {:.0f} % the start and end of tiles ({:.2f} a core, "
      "{:.0f} clk each), {:.0f} % the wait for the last core.",
      points > 1 ? " at the workload's first point" : "", 100 * (1 - ends - c.idle), 100 * ends,
      c.waves, c.fixed_clk, 100 * c.idle);
}

}  // namespace

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

std::optional<size_t> runner_up(const std::vector<Candidate>& ranked) {
  for (size_t i = 1; i < ranked.size(); ++i) {
    if (shape_of(ranked[i].schedule) != shape_of(ranked.front().schedule)) return i;
  }
  return std::nullopt;
}

std::string why_first(const std::vector<Candidate>& ranked, size_t points) {
  const Candidate& first = ranked.front();
  std::string text =
      fmt::format("First: {}. {} {} {}", describe(first.schedule), bound_of(first.cost),
                  step_of(first), core_time_of(first.cost, points));
  if (const std::optional<size_t> next = runner_up(ranked)) {
    text += " " + what_it_lacks(ranked[*next], first, points);
  }
  const schedule::Resources& r = first.resources;
  text += fmt::format(
      " The first needs {} of {} registers a consumer thread and {} bytes of shared memory.",
      r.register_need, r.consumer_registers, r.shared_bytes);
  if (r.register_need > r.consumer_registers) {
    text += " That is an estimate; no tile needs fewer, and the compiler may keep some in memory.";
  }
  return text;
}

}  // namespace attngen::report
