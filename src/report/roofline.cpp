#include "report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/markup.h"
#include "report/why.h"

namespace attngen::report {
namespace {

using schedule::Candidate;
using schedule::Cost;
using target::Target;

constexpr double kHeight = 384;   // of the drawing, px; labels of the axis below it take 40 more
constexpr double kLineRoom = 18;  // between two lines of text, px

// A logarithmic scale.
struct Axis {
  double low = 1, high = 10;

  double share(double value) const { return std::log(value / low) / std::log(high / low); }
};

struct Plot {
  Axis x, y;

  std::string left(double flop_per_byte) const { return across(x.share(flop_per_byte)); }
  double top(double flop_per_s) const { return kHeight * (1 - y.share(flop_per_s)); }
};

double peak_of(const Target& t) { return t.cores * t.matrix_flop * t.boost_clock_hz; }

// A candidate of an empty mask has no place on a logarithmic scale.
bool has_place(const Cost& c) { return c.flop_per_s > 0 && c.flop_per_byte > 0; }

// 1, 2 or 5 times a power of ten: the last one that is at most `value`.
double tick_below(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value)));
  if (5 * decade <= value) return 5 * decade;
  return 2 * decade <= value ? 2 * decade : decade;
}

double tick_after(double tick) {
  const double decade = std::pow(10, std::floor(std::log10(1.001 * tick)));
  const double lead = tick / decade;
  return lead < 1.5 ? 2 * decade : lead < 3 ? 5 * decade : 10 * decade;
}

// Room for all points, for the corner of the memory roof, and for a label left of the L2's.
Plot plot_of(const Target& t, const std::vector<Candidate>& ranked) {
  double slowest = t.matrix_flop_sustained / 4, densest = 10 * peak_of(t) / t.memory_bytes_per_s;
  for (const Candidate& c : ranked) {
    if (!has_place(c.cost)) continue;
    slowest = std::min(slowest, c.cost.flop_per_s);
    densest = std::max(densest, 2.5 * c.cost.flop_per_byte);
  }
  const double bottom = tick_below(slowest);
  double sparsest = bottom / t.l2_bytes_per_s / 8;
  for (const Candidate& c : ranked) {
    if (has_place(c.cost)) sparsest = std::min(sparsest, c.cost.flop_per_byte / 2);
  }
  return {{sparsest, densest}, {bottom, 1.25 * peak_of(t)}};
}

std::string grid(const Plot& plot) {
  std::string text = "<g class=\"grid\">\n";
  for (double y = plot.y.low; y < plot.y.high; y = tick_after(y)) {
    text += fmt::format(
        "<line x1=\"0\" x2=\"100%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
        "<text x=\"-8\" y=\"{1:.1f}\" text-anchor=\"end\">{2:g}</text>\n",
        plot.top(y), plot.top(y) + 4, y * 1e-12);
  }
  for (double x = std::pow(10, std::ceil(std::log10(plot.x.low))); x < plot.x.high; x *= 10) {
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{1}\"/>"
        "<text x=\"{0}\" y=\"{2}\" text-anchor=\"middle\">{3:g}</text>\n",
        plot.left(x), kHeight, kHeight + 17, x);
  }
  text += fmt::format(
      "<text class=\"strong\" x=\"0\" y=\"-12\" dx=\"-34\">TFLOP/s, predicted</text>\n"
      "<text class=\"strong\" x=\"100%\" y=\"{}\" text-anchor=\"end\">flop per byte of memory "
      "traffic</text>\n",
      kHeight + 37);
  return text + "</g>\n";
}

// A slope: so many bytes a second, up to the peak of the matrix units.
std::string bandwidth(const Plot& plot, const Target& t, double bytes_per_s, const char* name,
                      bool left) {
  const double peak = peak_of(t);
  const double label_y = kHeight - 12;
  const double at = plot.y.low * std::pow(plot.y.high / plot.y.low, 12 / kHeight) / bytes_per_s;
  return fmt::format(
      "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{:.1f}\"/>"
      "<text class=\"halo\" x=\"{}\" y=\"{}\" dx=\"{}\" text-anchor=\"{}\">{} {}</text>\n",
      plot.left(plot.y.low / bytes_per_s), kHeight, plot.left(peak / bytes_per_s), plot.top(peak),
      plot.left(at), label_y, left ? -8 : 10, left ? "end" : "start", name, rate_text(bytes_per_s));
}

std::string ceiling(const Plot& plot, const Target& t, double flop_per_s, const std::string& label,
                    bool above, const char* style) {
  const double y = plot.top(flop_per_s);
  return fmt::format(
      "<line{} x1=\"{}\" x2=\"100%\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
      "<text class=\"halo\" x=\"100%\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
      style, plot.left(flop_per_s / t.l2_bytes_per_s), y, y, above ? y - 7 : y + 16, label);
}

std::string roofs(const Plot& plot, const Target& t) {
  const double peak = peak_of(t), sustained = t.matrix_flop_sustained;
  const bool room = plot.top(sustained) - plot.top(peak) > kLineRoom;
  return "<g class=\"roof\">\n" + bandwidth(plot, t, t.l2_bytes_per_s, "L2", true) +
         bandwidth(plot, t, t.memory_bytes_per_s, "memory", false) +
         ceiling(
             plot, t, peak,
             fmt::format("matrix peak {:.0f} at {:.2f} GHz", peak * 1e-12, t.boost_clock_hz * 1e-9),
             true, " class=\"dashed\"") +
         ceiling(plot, t, sustained,
                 fmt::format("sustained, power-limited {:.0f}", sustained * 1e-12), room, "") +
         "</g>\n";
}

std::string title(size_t rank, const Candidate& c) {
  return fmt::format("<title>#{} {}: {}, {:.1f} TFLOP/s, {:.0f} flop/byte</title>", rank,
                     describe(c.schedule), time_text(c.cost.seconds), c.cost.flop_per_s * 1e-12,
                     c.cost.flop_per_byte);
}

// All but the two that are marked.
std::string cloud(const Plot& plot, const std::vector<Candidate>& ranked, size_t next) {
  std::string text = "<g class=\"cloud\">\n";
  for (size_t i = 1; i < ranked.size(); ++i) {
    const Cost& c = ranked[i].cost;
    if (i == next || !has_place(c)) continue;
    text +=
        fmt::format("<circle cx=\"{}\" cy=\"{:.1f}\" r=\"3.5\">{}</circle>\n",
                    plot.left(c.flop_per_byte), plot.top(c.flop_per_s), title(i + 1, ranked[i]));
  }
  return text + "</g>\n";
}

// Whether a label left of the point is clear of the memory roof, or the right has no room for one.
bool label_left(const Plot& plot, const Target& t, const Cost& c) {
  constexpr double kLabel = 0.2;  // of the width
  const double x = plot.x.share(c.flop_per_byte);
  return x - kLabel > plot.x.share(c.flop_per_s / t.memory_bytes_per_s) || x + kLabel > 1;
}

// The mark against memory traffic, a small one against L2 traffic, a line between, a label above or
// below it.
std::string mark(const Plot& plot, const Target& t, const Candidate& c, size_t rank, bool first) {
  const double y = plot.top(c.cost.flop_per_s);
  const double x = plot.x.share(c.cost.flop_per_byte);
  const bool left = label_left(plot, t, c.cost);
  std::string text = fmt::format("<g class=\"{}\">\n", first ? "first" : "next");
  if (c.cost.flop_per_l2_byte > 0) {
    const std::string l2 = plot.left(c.cost.flop_per_l2_byte);
    text += fmt::format(
        "<line class=\"lead\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<circle class=\"ring\" cx=\"{0}\" cy=\"{2:.1f}\" r=\"{3}\"><title>{4:.0f} flop/byte of L2 "
        "traffic</title></circle>\n",
        l2, across(x), y, first ? 3.5 : 6.5, c.cost.flop_per_l2_byte);
  }
  text += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{:.1f}\" r=\"{}\">{}</circle>\n",
                      first ? "disc" : "ring", across(x), y, first ? 5.5 : 8.5, title(rank, c));
  return text + fmt::format(
                    "<text class=\"halo\" x=\"{}\" y=\"{:.1f}\" dx=\"{}\" text-anchor=\"{}\">"
                    "{}×{}, {:.0f}</text>\n</g>\n",
                    across(x), first ? y - 9 : y + 19, left ? -14 : 14, left ? "end" : "start",
                    c.schedule.tile_q(), c.schedule.tile_kv, c.cost.flop_per_s * 1e-12);
}

}  // namespace

std::string roofline(const Target& target, const std::vector<Candidate>& ranked) {
  if (!has_place(ranked.front().cost))
    return "<p>No pair exists: there is nothing to compute.</p>\n";
  const Plot plot = plot_of(target, ranked);
  const size_t next = runner_up(ranked).value_or(0);
  return "<figure>\n<svg class=\"roofline\" role=\"group\" aria-label=\"Roofline\">\n" +
         grid(plot) + roofs(plot, target) + cloud(plot, ranked, next) +
         (next > 0 ? mark(plot, target, ranked[next], next + 1, false) : "") +
         mark(plot, target, ranked.front(), 1, true) + "</svg>\n</figure>\n";
}

}  // namespace attngen::report
