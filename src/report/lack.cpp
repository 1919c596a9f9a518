#include "report/lack.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/pipes.h"

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Cost;
using schedule::Overlap;
using schedule::Place;
using schedule::Schedule;

double pairs_of(const Schedule& s) { return static_cast<double>(s.tile_q()) * s.tile_kv; }

// Clocks of a core.
double ends_clk(const Cost& c) { return c.waves * c.fixed_clk; }
double steps_clk(const Cost& c) { return c.core_clk * (1 - c.idle) - ends_clk(c); }

// How much longer than the core itself the L2 or memory takes, as a share of the core's time.
double stall(const Cost& c) {
  return std::max(0.0, c.blocks * std::max(c.l2_clk, c.memory_clk) / c.core_clk - 1);
}

const Pipe& busiest(const std::array<Pipe, 6>& pipes) {
  return *std::max_element(pipes.begin(), pipes.end(),
                           [](const Pipe& a, const Pipe& b) { return a.clk < b.clk; });
}

// The decisions that leave its busiest pipe idle, where the first decided better.
std::string decisions(const Schedule& next, const Schedule& first) {
  std::vector<std::string> list;
  if (next.overlap == Overlap::None && first.overlap != Overlap::None) {
    list.emplace_back("no overlap inside a warpgroup");
  }
  if (next.warpgroups == 1 && first.warpgroups > 1) {
    list.emplace_back("one warpgroup with none beside it");
  }
  if (!next.ping_pong && first.ping_pong) list.emplace_back("no turns on the tensor cores");
  if (next.weights == Place::Shared && first.weights != Place::Shared) {
    list.emplace_back("weights go through shared memory");
  }
  if (pairs_of(next) < pairs_of(first)) {
    list.push_back(fmt::format("a step's latencies serve {:.0f} % fewer pairs",
                               100 * (1 - pairs_of(next) / pairs_of(first))));
  }
  return list.empty() ? "" : fmt::format(" ({})", fmt::join(list, ", "));
}

// Why its steps take longer for the same pairs: a pipe has more to do, or waits more.
std::string longer_steps(const Candidate& next, const Candidate& first) {
  const double scale = pairs_of(first.schedule) / pairs_of(next.schedule);
  const auto pipes = pipes_of(next.cost);
  const Pipe& pipe = busiest(pipes);
  const Pipe same = pipes_of(first.cost)[static_cast<size_t>(&pipe - pipes.data())];
  const double longer = scale * step_length(next.cost) - step_length(first.cost);
  if (scale * pipe.clk - same.clk > longer / 2) {
    return fmt::format("for the same pairs {} {} busy {:.1f} % longer", pipe.with_article(),
                       pipe.verb, 100 * (scale * pipe.clk / same.clk - 1));
  }
  const auto idle = [](const Cost& cost, double clk) { return 1 - clk / step_length(cost); };
  return fmt::format("{} {} idle for {:.1f} % of its steps, of the first's for {:.1f} %{}",
                     pipe.with_article(), pipe.verb, 100 * idle(next.cost, pipe.clk),
                     100 * idle(first.cost, same.clk), decisions(next.schedule, first.schedule));
}

// Its steps take more of a core's time: they cover more pairs, or take longer for as many.
std::string more_steps(const Candidate& next, const Candidate& first) {
  const double pairs =
      next.cost.blocks * pairs_of(next.schedule) / (first.cost.blocks * pairs_of(first.schedule));
  const double clk = step_length(next.cost) * pairs_of(first.schedule) /
                     (step_length(first.cost) * pairs_of(next.schedule));
  if (pairs >= clk) {
    return fmt::format(
        "its tiles cover {:.1f} % more pairs, outside the mask or the sequence{}",
        100 * (pairs - 1),
        clk < 1 ? fmt::format(", though each in {:.1f} % less time", 100 * (1 - clk)) : "");
  }
  return longer_steps(next, first);
}

// A factor of the difference, less 1, and what to say of it.
struct Part {
  double share;
  std::string text;
};

// Core time = (steps + ends) / (1 - idle); then the clock, and what stalls the core.
Part largest_part(const Candidate& next, const Candidate& first) {
  const Cost& a = first.cost;
  const Cost& b = next.cost;
  if (a.core_clk <= 0 || b.core_clk <= 0) return {0, ""};
  const double busy = steps_clk(a) + ends_clk(a);
  const auto percent = [](double clk, const Cost& c) { return 100 * clk / c.core_clk; };
  const std::vector<Part> parts{
      {(steps_clk(b) - steps_clk(a)) / busy, more_steps(next, first)},
      {(ends_clk(b) - ends_clk(a)) / busy,
       fmt::format("the start and end of its tiles take {:.1f} % of its time, of the first's "
                   "{:.1f} %",
                   percent(ends_clk(b), b), percent(ends_clk(a), a))},
      {(1 - a.idle) / (1 - b.idle) - 1,
       fmt::format("its cores wait {:.1f} % of the time for the last one, the first's {:.1f} %",
                   100 * b.idle, 100 * a.idle)},
      {a.clock_hz / b.clock_hz - 1,
       fmt::format("the power limit holds it to {:.3f} GHz, the first to {:.3f} GHz",
                   b.clock_hz * 1e-9, a.clock_hz * 1e-9)},
      {stall(b) - stall(a),
       fmt::format("{} keeps it waiting for longer", b.l2_clk > b.memory_clk ? "L2" : "memory")}};
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Part& x, const Part& y) { return x.share < y.share; });
}

// "192x80"; of the same tile, what else differs.
std::string name_of_shape(const Schedule& next, const Schedule& first) {
  std::string name = fmt::format("{}x{}", next.tile_q(), next.tile_kv);
  if (next.warpgroups != first.warpgroups || next.tile_kv != first.tile_kv) return name;
  std::vector<std::string> list;
  if (next.weights != first.weights) {
    list.emplace_back(next.weights == Place::Shared ? "with weights in shared memory"
                                                    : "with weights in registers");
  }
  if (next.overlap != first.overlap) {
    list.emplace_back(next.overlap == Overlap::None ? "without overlap inside a warpgroup"
                                                    : "with overlap inside a warpgroup");
  }
  if (next.pack_heads != first.pack_heads) {
    list.emplace_back(next.pack_heads ? "with heads packed" : "with heads apart");
  }
  if (!list.empty()) name += fmt::format(" {}", fmt::join(list, " and "));
  return name;
}

}  // namespace

std::string what_it_lacks(const Candidate& next, const Candidate& first, size_t points) {
  const std::string name =
      fmt::format("The runner-up, {},", name_of_shape(next.schedule, first.schedule));
  const double slower = next.cost.seconds / first.cost.seconds - 1;
  if (slower < 0.0005) return fmt::format("{} is predicted to be as fast.", name);
  const Part part = largest_part(next, first);
  const std::string by = fmt::format("{} is {:.1f} % slower", name, 100 * slower);
  if (part.share < slower / 3) {
    return by + (points > 1 ? ", at other points of the workload than the first." : ".");
  }
  return fmt::format("{}{} {}.", by, points > 1 ? "; at the workload's first point" : ":",
                     part.text);
}

}  // namespace attngen::report
