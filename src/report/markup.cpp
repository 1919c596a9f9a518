#include "report/markup.h"

#include <fmt/format.h>

namespace attngen::report {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

std::string rate_text(double bytes_per_s) {
  return bytes_per_s < 1e12 ? fmt::format("{:.0f} GB/s", bytes_per_s * 1e-9)
                            : fmt::format("{:.2f} TB/s", bytes_per_s * 1e-12);
}

std::string across(double share) { return fmt::format("{:.2f}%", 100 * share); }

}  // namespace attngen::report
