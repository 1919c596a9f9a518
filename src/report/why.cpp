#include "report/why.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "report/core_time.h"
#include "report/lack.h"
#include "report/pipes.h"
#include "schedule/workspace.h"

namespace attngen::report {
namespace {

using schedule::Bound;
using schedule::Candidate;
using schedule::Cost;
using schedule::Ranking;
using schedule::Schedule;

using Shape = std::tuple<int, int, schedule::Place, schedule::Overlap, bool, bool>;
Shape shape_of(const Schedule& s) {
  return {s.warpgroups, s.tile_kv, s.weights, s.overlap, s.pack_heads, s.split_keys};
}

std::string bound_of(const Cost& cost) {
  if (cost.bound == Bound::Latency) {
    return "It is bound by latency: no pipe is busy for three quarters of the kernel's time.";
  }
  return fmt::format("It is bound by {}.",
                     pipes_of(cost)[static_cast<size_t>(cost.bound)].with_article());
}

// Of several points the first one's shares are shown.
const char* at_first(size_t points) { return points > 1 ? " at the workload's first point" : ""; }

// Steps of other lengths than the one that is shown, where these tell.
std::string other_lengths(const Cost& cost) {
  if (cost.blocks <= 0) return "";  // a mask without a pair
  // One that waits for the L2 or for memory.
  if (step_length(cost) > cost.step_clk) return fmt::format(", by itself {:.0f}", cost.step_clk);
  const double mean = steps_clk(cost) / cost.blocks;
  if (!(std::abs(mean / cost.step_clk - 1) > 0.02)) return "";
  return fmt::format(", in the mean {:.0f} with {}", mean,
                     cost.states_seconds > 0 ? "those of far keys"
                     : mean > cost.step_clk  ? "those that the mask cuts"
                                             : "those that a warpgroup passes over");
}

std::string step_of(const Candidate& c, size_t points) {
  std::vector<std::string> shares;
  for (const Pipe& pipe : pipes_of(c.cost)) {
    shares.push_back(fmt::format("{} {:.0f} % ({:.0f} %)", pipe.with_article(),
                                 100 * pipe.clk / step_length(c.cost),
                                 100 * pipe.clk / kernel_clk(c.cost)));
  }
  return fmt::format(
      "A step of {} keys takes {:.0f} clk{}; busy in it (and in the kernel's whole time{}) are {}.",
      c.schedule.tile_kv, step_length(c.cost), other_lengths(c.cost), at_first(points),
      fmt::join(shares, ", "));
}

std::string core_time_of(const Candidate& c) {
  const Cost& cost = c.cost;
  const double core = cost.core_clk > 0 ? cost.core_clk : 1;
  const std::string ends =
      cost.splits > 1 ? fmt::format("splits of tiles ({:.0f} of each, ", cost.splits) : "tiles (";
  std::string text = fmt::format(
      "Of a core's time {:.0f} % are steps, {:.0f} % the start and end of {}{:.2f} {}, {:.0f} clk "
      "each), {:.0f} % the wait for the last core",
      100 * steps_clk(cost) / core, 100 * ends_clk(cost) / core, ends, cost.waves,
      c.resources.blocks_per_core > 1 ? "for each block on it" : "a core", cost.fixed_clk,
      100 * cost.idle);
  if (cost.crowded >= 0.005) {
    text += fmt::format(", {:.0f} % waits for others at the L2", 100 * cost.crowded);
  }
  return text + ".";
}

// What a mask's author wants to know of its blocks: how many of the visited pairs are in vain.
std::string pairs_of(const Cost& cost, const spec::Spec& spec, size_t points) {
  if (spec.block_size > 0 || cost.existing <= 0 || cost.existing >= 0.995) return "";
  return fmt::format(" Of the pairs of visited blocks {:.0f} % exist{}{}.", 100 * cost.existing,
                     at_first(points),
                     expr::inputs_of(spec.mask).empty() ? "" : ", by what is assumed of inputs");
}

// Small pages take a step longer: in how many copies its keys come, or row by row.
std::string copies_of(const spec::Spec& spec, const Candidate& c) {
  if (!spec.page || spec.gathers_lists()) return "";
  if (c.resources.page_rows) {
    return fmt::format(" A step's keys come row by row{}.",
                       c.resources.values_apart ? ", values by another warp" : "");
  }
  const int copies = schedule::page_copies(c.schedule, *spec.page, spec.block_size);
  return fmt::format(
      " A step's keys come {}{}.",
      copies == 1 ? "from one page" : fmt::format("in {} copies, a page each", copies),
      c.resources.values_apart ? ", values by another warp in as many" : "");
}

// What of the kernel's time is not a core's.
std::string other_time_of(const Cost& cost) {
  std::vector<std::string> parts;
  const auto add = [&](double seconds, const char* what) {
    const double share = seconds / cost.first_seconds;
    if (share >= 0.005) parts.push_back(fmt::format("{:.0f} % {}", 100 * share, what));
  };
  add(cost.launch_seconds, "launches");
  add(cost.asking_seconds, "the asking of pairs beforehand");
  add(cost.states_seconds, "the making of states");
  add(cost.join_seconds, "the joining of splits");
  add(stall_seconds(cost), cost.l2_clk > cost.memory_clk ? "waits for L2" : "waits for memory");
  return parts.empty() ? "" : fmt::format(" Of the kernel's, {}.", fmt::join(parts, ", "));
}

// ", and for a call of batch 1, seq_q 4096, seq_kv 4096 a workspace of 66060292 bytes"; of the
// point that needs most, and nothing of what a page holds.
std::string workspace_of(const spec::Spec& spec, const Candidate& c) {
  constexpr int64_t kPage = 4096;
  int64_t most = kPage;
  const spec::Workload* of = nullptr;
  for (const spec::Workload& w : spec.workload) {
    const int64_t bytes = schedule::workspace_bytes(spec, c, w);
    if (bytes <= most) continue;
    most = bytes;
    of = &w;
  }
  if (of == nullptr) return "";
  return fmt::format(", and for a call of {} a workspace of {} bytes", text_of(*of), most);
}

std::string other_way_of(const Ranking& ranking) {
  if (!ranking.other_way) return "";
  return fmt::format(" Of the other way with lists the fastest takes {:.1f} us: {}.",
                     1e6 * ranking.other_way->cost.seconds, describe(ranking.other_way->schedule));
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

std::string why_first(const Ranking& ranking, const spec::Spec& spec) {
  const std::vector<Candidate>& ranked = ranking.ranked;
  const Candidate& first = ranked.front();
  const size_t points = spec.workload.size();
  std::string text =
      fmt::format("First: {}. {} {} {}{}{}{}", describe(first.schedule), bound_of(first.cost),
                  step_of(first, points), core_time_of(first), other_time_of(first.cost),
                  pairs_of(first.cost, spec, points), copies_of(spec, first));
  if (const std::optional<size_t> next = runner_up(ranked)) {
    text += " " + what_it_lacks(ranked[*next], first, points);
  }
  const schedule::Resources& r = first.resources;
  text += fmt::format(
      " The first needs {} of {} registers a consumer thread and {} bytes of shared memory{}.",
      r.register_need, r.consumer_registers, r.shared_bytes, workspace_of(spec, first));
  if (r.register_need > r.consumer_registers) {
    text +=
        " The registers are an estimate; no tile needs fewer, and the compiler may keep some in "
        "memory.";
  }
  return text + other_way_of(ranking);
}

}  // namespace attngen::report
