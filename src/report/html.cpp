#include "report/html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "report/assumptions.h"
#include "report/html_table.h"
#include "report/main_loop.h"
#include "report/markup.h"
#include "report/pipes.h"
#include "report/roofline.h"
#include "report/why.h"
#include "spec/lets.h"

namespace attngen::report {

// page.css and page.js, from cmake/EmbedText.cmake.
extern const std::span<const std::pair<std::string_view, std::string_view>> page_files;

namespace {

using schedule::Bound;
using schedule::Candidate;
using schedule::Cost;
using schedule::Ranking;

std::string_view file(std::string_view name) {
  const auto found = std::find_if(page_files.begin(), page_files.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == page_files.end() ? "" : found->second;
}

// The policy forbids what the page does not need anyway: any load.
std::string head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"attngen {}\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "</head>\n",
      ATTNGEN_VERSION, title, file("page.css"));
}

std::string figure(std::string_view name, const std::string& value, const std::string& note) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", name, value, note);
}

// What share of the kernel's time the bounding pipe is busy.
std::string bound_note(const Cost& cost) {
  if (cost.bound == Bound::Latency) return "no pipe is busy 75 % of the time";
  const double clk = pipes_of(cost)[static_cast<size_t>(cost.bound)].clk;
  return fmt::format("busy {:.0f} % of the time", 100 * clk / kernel_clk(cost));
}

std::string figures(const spec::Spec& spec, const target::Target& target,
                    const std::vector<Candidate>& ranked) {
  const Cost& cost = ranked.front().cost;
  std::string text = "<dl class=\"figures\">\n";
  text += figure("Predicted time", time_text(cost.seconds),
                 spec.workload.size() > 1 ? "weighted mean of the workload" : "of the workload");
  text += figure("Predicted rate", fmt::format("{:.0f} TFLOP/s", cost.flop_per_s * 1e-12),
                 fmt::format("{:.0f} % of the sustained matrix rate",
                             100 * cost.flop_per_s / target.matrix_flop_sustained));
  text += figure("Bound by", bound_name(cost), bound_note(cost));
  if (const auto next = runner_up(ranked)) {
    const Candidate& second = ranked[*next];
    text +=
        figure("Runner-up", fmt::format("{}×{}", second.schedule.tile_q(), second.schedule.tile_kv),
               fmt::format("{:.1f} % slower", 100 * (second.cost.seconds / cost.seconds - 1)));
  }
  return text + "</dl>\n";
}

std::string asked(std::string_view name, const std::string& value, bool code = false) {
  return fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", name, code ? " class=\"code\"" : "",
                     escape(value));
}

std::string assumed(const spec::Spec& spec, const target::Target& target) {
  const std::vector<std::string> lines = assumptions(spec, target.family);
  return lines.empty() ? "" : asked("Assumed", fmt::format("{}", fmt::join(lines, "\n")));
}

// What the search was asked: the spec in short, the workload, the GPU.
std::string question(const spec::Spec& spec, const target::Target& target) {
  std::string workload;
  for (const spec::Workload& w : spec.workload) {
    workload += fmt::format("{}{}, weight {}", workload.empty() ? "" : "\n", text_of(w), w.weight);
  }
  return "<dl class=\"asked\">\n" +
         asked("GPU", fmt::format("{}, model {}", target.title, target.hash)) +
         asked("Workload", workload) + assumed(spec, target) +
         asked("Tensors", fmt::format("{}, {} query and {} key-value heads, head_dim {} and {}",
                                      name_of(spec.dtype), spec.heads.q, spec.heads.kv(),
                                      spec.head_dim.qk, spec.head_dim.v)) +
         (spec.lets.empty() ? "" : asked("let", spec::lets_of(spec), true)) +
         asked("score", spec.score_text, true) + asked("mask", spec.mask_text, true) +
         asked("normalize", spec.normalize_text, true) + asked("Spec hash", spec.hash) + "</dl>\n";
}

std::string introduction(const spec::Spec& spec, const target::Target& target,
                         const Ranking& ranking) {
  std::string text =
      fmt::format("<header>\n<p class=\"over\">attngen {}, schedule report</p>\n", ATTNGEN_VERSION);
  text += fmt::format("<h1>{} <span>on {}</span></h1>\n", escape(spec.name), escape(target.name));
  if (!spec.doc.empty()) text += fmt::format("<p class=\"soft\">{}</p>\n", escape(spec.doc));
  return text + "</header>\n" + figures(spec, target, ranking.ranked) +
         fmt::format("<p>{}</p>\n", escape(why_first(ranking, spec))) + question(spec, target);
}

std::string legend(const std::vector<Candidate>& ranked) {
  const auto item = [](const char* style, const char* role, const Candidate& c) {
    return fmt::format("<li class=\"{}\">{}: {}</li>\n", style, role, escape(describe(c.schedule)));
  };
  std::string text = "<ul class=\"legend\">\n" + item("first", "First", ranked.front());
  if (const auto next = runner_up(ranked)) text += item("next", "Runner-up", ranked[*next]);
  if (ranked.size() > 2) text += "<li>The other candidates</li>\n";
  return text + "</ul>\n";
}

std::string roofline_section(const spec::Spec& spec, const target::Target& target,
                             const std::vector<Candidate>& ranked) {
  return "<section>\n<h2>Roofline</h2>\n"
         "<p class=\"soft\">Each point is a schedule that fits; hover for its name. The first and "
         "the runner-up have a small ring as well, at their flop per byte of L2 traffic" +
         std::string(spec.workload.size() > 1 ? ", all over the whole workload" : "") + ".</p>\n" +
         legend(ranked) + roofline(target, ranked) + "</section>\n";
}

std::string main_loop_section(const std::vector<Candidate>& ranked) {
  const auto next = runner_up(ranked);
  const Candidate& first = ranked.front();
  return fmt::format(
             "<section>\n<h2>The main loop by pipe</h2>\n"
             "<p class=\"soft\">Clocks for {} × {} pairs of query and key{}, {}.</p>\n",
             first.schedule.tile_q(), first.schedule.tile_kv,
             first.resources.blocks_per_core > 1 ? " in each of two blocks that share a core" : "",
             next ? "one step of the first and as much of the runner-up's" : "one step") +
         main_loop(first, next ? &ranked[*next] : nullptr) + "</section>\n";
}

std::string candidates_section(const std::vector<Candidate>& ranked) {
  return fmt::format("<section>\n<h2>{} schedule{} fit{}</h2>\n", ranked.size(),
                     ranked.size() == 1 ? "" : "s", ranked.size() == 1 ? "s" : "") +
         "<p class=\"soft\">Overlap intra: a warpgroup computes its next scores beside its "
         "weights. "
         "Ping-pong: warpgroups take turns on the matrix units. Order longest: tiles with the most "
         "keys start first. Heads packed: the query heads of a key head share a tile. Registers: "
         "what a consumer thread needs, estimated.</p>\n" +
         candidates_table(ranked) + "</section>\n";
}

std::string rejected_section(const Ranking& ranking) {
  if (ranking.rejected.empty()) return {};
  return fmt::format(
             "<section>\n<h2>{} {} not</h2>\n<p class=\"soft\">By reason, with the nearest miss of "
             "each.</p>\n",
             ranking.rejected.size(), ranking.rejected.size() == 1 ? "does" : "do") +
         rejected_lists(ranking.rejected) + "</section>\n";
}

}  // namespace

std::string html_name(const spec::Spec& spec, const target::Target& target) {
  return fmt::format("{}_{}.html", spec.name, target.name);
}

std::string html(const spec::Spec& spec, const target::Target& target, const Ranking& ranking) {
  const std::vector<Candidate>& ranked = ranking.ranked;
  return head(fmt::format("{} on {}", escape(spec.name), escape(target.name))) +
         "<body>\n<main>\n" + introduction(spec, target, ranking) +
         roofline_section(spec, target, ranked) + main_loop_section(ranked) +
         candidates_section(ranked) + rejected_section(ranking) + "</main>\n<script>\n" +
         std::string(file("page.js")) + "</script>\n</body>\n</html>\n";
}

}  // namespace attngen::report
