#include "report/lack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/core_time.h"
#include "report/pipes.h"

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Cost;
using schedule::Overlap;
using schedule::Place;
using schedule::Schedule;

// Of those inside a core: what it shares with others has parts of its own.
const Pipe& busiest(const std::array<Pipe, 6>& pipes) {
  return *std::max_element(pipes.begin(), pipes.begin() + 4,
                           [](const Pipe& a, const Pipe& b) { return a.clk < b.clk; });
}

// The decisions that leave its busiest pipe idle, where the first decided better.
std::string decisions(const Candidate& c, const Candidate& best) {
  const Schedule &next = c.schedule, &first = best.schedule;
  std::vector<std::string> list;
  if (next.overlap == Overlap::None && first.overlap != Overlap::None) {
    list.emplace_back("no overlap inside a warpgroup");
  }
  // The waves of a SIMD stand for one another, of whichever block they are.
  if (next.warpgroups == 1 && first.warpgroups > 1 && c.resources.blocks_per_core == 1 &&
      c.cost.family == target::Family::Hopper) {
    list.emplace_back("one warpgroup with none beside it");
  }
  if (!next.ping_pong && first.ping_pong) list.emplace_back("no ping-pong");
  if (next.weights == Place::Shared && first.weights != Place::Shared) {
    list.emplace_back("weights go through shared memory");
  }
  const double fewer = 1 - pairs_of_step(c) / pairs_of_step(best);
  if (fewer > 0) {
    list.push_back(fmt::format("a step's latencies serve {:.0f} % fewer pairs", 100 * fewer));
  }
  return list.empty() ? "" : fmt::format(" ({})", fmt::join(list, ", "));
}

// Why its steps take longer for the same pairs: a pipe has more to do, or waits more.
std::string longer_steps(const Candidate& next, const Candidate& first) {
  const double scale = pairs_of_step(first) / pairs_of_step(next);
  const auto pipes = pipes_of(next.cost);
  const Pipe& pipe = busiest(pipes);
  const Pipe same = pipes_of(first.cost)[static_cast<size_t>(&pipe - pipes.data())];
  const double longer = scale * next.cost.step_clk - first.cost.step_clk;
  if (scale * pipe.clk - same.clk > longer / 2) {
    return fmt::format("for the same pairs {} {} busy {:.1f} % longer", pipe.with_article(),
                       pipe.verb, 100 * (scale * pipe.clk / same.clk - 1));
  }
  const auto idle = [](const Cost& cost, double clk) { return 1 - clk / cost.step_clk; };
  return fmt::format("{} {} idle for {:.1f} % of its steps, of the first's for {:.1f} %{}",
                     pipe.with_article(), pipe.verb, 100 * idle(next.cost, pipe.clk),
                     100 * idle(first.cost, same.clk), decisions(next, first));
}

// How long its steps take in the mean, where a whole block takes 1.
double mean_step(const Cost& c) { return steps_clk(c) / (c.blocks * c.step_clk); }

// Its steps take more of a core's time: they cover more pairs, or take longer for as many, all of
// them or those that a mask cuts.
std::string more_steps(const Candidate& next, const Candidate& first) {
  const Cost &a = first.cost, &b = next.cost;
  if (a.blocks <= 0 || b.blocks <= 0) return longer_steps(next, first);  // a mask without a pair
  const double pairs = b.blocks * pairs_of_step(next) / (a.blocks * pairs_of_step(first));
  const double length = b.step_clk * pairs_of_step(first) / (a.step_clk * pairs_of_step(next));
  const double mean = mean_step(b) / mean_step(a);
  if (pairs >= std::max(length, mean)) {
    const double each = length * mean;
    return fmt::format(
        "its tiles cover {:.1f} % more pairs, outside the mask or the sequence{}",
        100 * (pairs - 1),
        each < 0.9995 ? fmt::format(", though each in {:.1f} % less time", 100 * (1 - each)) : "");
  }
  if (mean > length) {
    return fmt::format(
        "in the mean its steps take {:.2f} times as long as one that no mask cuts, the first's "
        "{:.2f} times",
        mean_step(b), mean_step(a));
  }
  return longer_steps(next, first);
}

// A factor of the difference, less 1, and what to say of it.
struct Part {
  double share;
  std::string text;
};

std::string of_its_time(const char* what, double next, double first) {
  return fmt::format("{} {:.1f} % of its time, of the first's {:.1f} %", what, 100 * next,
                     100 * first);
}

// Core time = (steps + ends) / (1 - waits for the last core) / (1 - waits at the L2).
std::vector<Part> parts_of_core(const Candidate& next, const Candidate& first) {
  const Cost &a = first.cost, &b = next.cost;
  const double busy = steps_clk(a) + ends_clk(a);
  const auto working = [](const Cost& c) { return 1 - c.idle / (1 - c.crowded); };
  return {{(steps_clk(b) - steps_clk(a)) / busy, more_steps(next, first)},
          {(ends_clk(b) - ends_clk(a)) / busy,
           of_its_time("the start and end of its tiles take", ends_clk(b) / b.core_clk,
                       ends_clk(a) / a.core_clk)},
          {working(a) / working(b) - 1,
           fmt::format("its cores wait {:.1f} % of the time for the last one, the first's {:.1f} %",
                       100 * b.idle, 100 * a.idle)},
          {(1 - a.crowded) / (1 - b.crowded) - 1,
           fmt::format("its cores wait {:.1f} % of the time for each other at the L2, the first's "
                       "{:.1f} %",
                       100 * b.crowded, 100 * a.crowded)}};
}

// The clock, what stalls the cores, and what the kernel is not alone.
std::vector<Part> parts_beside(const Cost& b, const Cost& a) {
  const auto stalled = [](const Cost& c) { return stall_seconds(c) * c.clock_hz / c.core_clk; };
  const auto states = [](const Cost& c) { return c.states_seconds / c.first_seconds; };
  const auto joins = [](const Cost& c) { return c.join_seconds / c.first_seconds; };
  const auto asks = [](const Cost& c) { return c.asking_seconds / c.first_seconds; };
  const auto launches = [](const Cost& c) { return c.launch_seconds / c.first_seconds; };
  return {{a.clock_hz / b.clock_hz - 1,
           fmt::format("the power limit holds it to {:.3f} GHz, the first to {:.3f} GHz",
                       b.clock_hz * 1e-9, a.clock_hz * 1e-9)},
          {(1 + stalled(b)) / (1 + stalled(a)) - 1,
           of_its_time(b.l2_clk > b.memory_clk ? "waits for L2 take" : "waits for memory take",
                       stall_seconds(b) / b.first_seconds, stall_seconds(a) / a.first_seconds)},
          {(b.states_seconds - a.states_seconds) / a.first_seconds,
           of_its_time("the making of states takes", states(b), states(a))},
          {(b.join_seconds - a.join_seconds) / a.first_seconds,
           of_its_time("the joining of splits takes", joins(b), joins(a))},
          {(b.asking_seconds - a.asking_seconds) / a.first_seconds,
           of_its_time("the asking of pairs beforehand takes", asks(b), asks(a))},
          {(b.launch_seconds - a.launch_seconds) / a.first_seconds,
           of_its_time("launches take", launches(b), launches(a))}};
}

Part largest_part(const Candidate& next, const Candidate& first) {
  if (first.cost.core_clk <= 0 || next.cost.core_clk <= 0) return {0, ""};
  std::vector<Part> parts = parts_of_core(next, first);
  for (Part& part : parts_beside(next.cost, first.cost)) parts.push_back(std::move(part));
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
    list.emplace_back(next.pack_heads ? "with heads packed" : "with a tile for each head");
  }
  if (next.split_keys != first.split_keys) {
    list.emplace_back(next.split_keys ? "with keys split" : "with all keys in a tile");
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
  constexpr double kLeastShown = 0.001;  // less would read as 0.0 % of a difference
  if (part.share < std::max(kLeastShown, slower / 3)) {
    return by + (points > 1 ? ", at other points of the workload than the first." : ".");
  }
  return fmt::format("{}{} {}.", by, points > 1 ? "; at the workload's first point" : ":",
                     part.text);
}

}  // namespace attngen::report
