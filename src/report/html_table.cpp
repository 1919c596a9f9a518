#include "report/html_table.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "report/markup.h"
#include "report/rejections.h"
#include "report/why.h"

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Order;
using schedule::Overlap;
using schedule::Rejection;

struct Row {
  size_t rank;
  const Candidate& candidate;
  double first_seconds;
};

struct Column {
  const char* group;  // of columns; it spans them all
  const char* title;
  bool is_text;
  std::string (*cell)(const Row&);  // numbers of a column have equally many decimals: they sort
};

std::string clocks(double clk) { return fmt::format("{:.0f}", clk); }

constexpr auto kColumns = std::to_array<Column>({
    {"", "rank", false, [](const Row& r) { return fmt::to_string(r.rank); }},
    {"Schedule", "tile", false,
     [](const Row& r) {
       return fmt::format("{}×{}", r.candidate.schedule.tile_q(), r.candidate.schedule.tile_kv);
     }},
    {"Schedule", "warpgroups", false,
     [](const Row& r) { return fmt::to_string(r.candidate.schedule.warpgroups); }},
    {"Schedule", "heads", true,
     [](const Row& r) {
       return std::string(r.candidate.schedule.pack_heads ? "packed" : "one a tile");
     }},
    {"Schedule", "keys", true,
     [](const Row& r) { return std::string(r.candidate.schedule.split_keys ? "split" : "all"); }},
    {"Schedule", "stages", false,
     [](const Row& r) { return fmt::to_string(r.candidate.schedule.stages); }},
    {"Schedule", "weights", true,
     [](const Row& r) { return std::string(name_of(r.candidate.schedule.weights)); }},
    {"Schedule", "overlap", true,
     [](const Row& r) {
       return std::string(r.candidate.schedule.overlap == Overlap::None ? "none" : "intra");
     }},
    {"Schedule", "ping-pong", true,
     [](const Row& r) { return std::string(r.candidate.schedule.ping_pong ? "yes" : "no"); }},
    {"Schedule", "grid", true,
     [](const Row& r) { return std::string(name_of(r.candidate.schedule.grid)); }},
    {"Schedule", "order", true,
     [](const Row& r) {
       return std::string(r.candidate.schedule.order == Order::Linear ? "linear" : "longest");
     }},
    {"Predicted", "time, µs", false,
     [](const Row& r) { return fmt::format("{:.1f}", r.candidate.cost.seconds * 1e6); }},
    {"Predicted", "slower by, %", false,
     [](const Row& r) {
       return fmt::format("{:.1f}", 100 * (r.candidate.cost.seconds / r.first_seconds - 1));
     }},
    {"Predicted", "TFLOP/s", false,
     [](const Row& r) { return fmt::format("{:.1f}", r.candidate.cost.flop_per_s * 1e-12); }},
    {"Predicted", "bound by", true,
     [](const Row& r) { return std::string(bound_name(r.candidate.cost)); }},
    {"Needs", "registers", false,
     [](const Row& r) { return fmt::to_string(r.candidate.resources.register_need); }},
    {"Needs", "shared bytes", false,
     [](const Row& r) { return fmt::to_string(r.candidate.resources.shared_bytes); }},
    {"Clocks of a step", "matrix", false,
     [](const Row& r) { return clocks(r.candidate.cost.matrix_clk); }},
    {"Clocks of a step", "special", false,
     [](const Row& r) { return clocks(r.candidate.cost.special_clk); }},
    {"Clocks of a step", "arithmetic", false,
     [](const Row& r) { return clocks(r.candidate.cost.issue_clk); }},
    {"Clocks of a step", "shared", false,
     [](const Row& r) { return clocks(r.candidate.cost.shared_clk); }},
    {"Clocks of a step", "L2", false, [](const Row& r) { return clocks(r.candidate.cost.l2_clk); }},
    {"Clocks of a step", "memory", false,
     [](const Row& r) { return clocks(r.candidate.cost.memory_clk); }},
    {"Clocks of a step", "in the core", false,
     [](const Row& r) { return clocks(r.candidate.cost.step_clk); }},
});

bool starts_group(size_t column) {
  return column > 0 && std::string_view(kColumns[column].group) != kColumns[column - 1].group;
}

const char* column_class(size_t column) {
  if (kColumns[column].is_text) return starts_group(column) ? " class=\"t group\"" : " class=\"t\"";
  return starts_group(column) ? " class=\"group\"" : "";
}

std::string head() {
  std::string groups, titles;
  for (size_t i = 0; i < kColumns.size();) {
    size_t end = i + 1;
    while (end < kColumns.size() && !starts_group(end)) ++end;
    groups += kColumns[i].group[0] == '\0'
                  ? "<td></td>"
                  : fmt::format("<th class=\"group\" colspan=\"{}\" scope=\"colgroup\">{}</th>",
                                end - i, kColumns[i].group);
    i = end;
  }
  for (size_t i = 0; i < kColumns.size(); ++i) {
    titles += fmt::format("<th{}{} scope=\"col\">{}</th>", column_class(i),
                          i == 0 ? " aria-sort=\"ascending\"" : "", kColumns[i].title);
  }
  return fmt::format("<thead>\n<tr>{}</tr>\n<tr>{}</tr>\n</thead>\n", groups, titles);
}

std::string line(const Row& row, const char* style) {
  std::string text = fmt::format("<tr{}>", style);
  for (const Column& column : kColumns) {
    text += fmt::format("<td{}>{}</td>", column.is_text ? " class=\"t\"" : "", column.cell(row));
  }
  return text + "</tr>\n";
}

}  // namespace

std::string candidates_table(const std::vector<Candidate>& ranked) {
  const size_t next = runner_up(ranked).value_or(0);
  std::string text =
      "<div class=\"scroll\" role=\"region\" aria-label=\"Candidates\" tabindex=\"0\">\n<table>\n" +
      head() + "<tbody>\n";
  for (size_t i = 0; i < ranked.size(); ++i) {
    text += line({i + 1, ranked[i], ranked.front().cost.seconds}, i == 0      ? " class=\"first\""
                                                                  : i == next ? " class=\"next\""
                                                                              : "");
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

std::string rejected_lists(const std::vector<Rejection>& rejected) {
  std::string text;
  for (const RejectionGroup& group : grouped(rejected)) {
    text += fmt::format("<details>\n<summary>{}: {}</summary>\n<ol>\n", count_of(group),
                        escape(group.nearest->reason));
    for (const Rejection* rejection : group.members) {
      text += fmt::format("<li>{}: {}</li>\n", escape(describe(rejection->schedule)),
                          escape(rejection->reason));
    }
    text += "</ol>\n</details>\n";
  }
  return text;
}

}  // namespace attngen::report
