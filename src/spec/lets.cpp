#include "spec/lets.h"

#include <fmt/format.h>

#include <algorithm>

#include "expr/parse.h"

namespace attngen::spec {

void add_names(std::string_view text, const Spec& spec, std::set<std::string>& names) {
  for (const std::string& name : expr::names_in(text)) {
    if (!names.insert(name).second) continue;
    for (const auto& [let, stands_for] : spec.lets) {
      if (let == name) add_names(stands_for, spec, names);
    }
  }
}

std::string lets_of(const Spec& spec) {
  std::string lines;
  for (const auto& [name, text] : spec.lets) {
    lines += fmt::format("{}{} = {}", lines.empty() ? "" : "\n", name, text);
  }
  return lines;
}

std::string with_lets(const Spec& spec, const std::string& text) {
  if (spec.lets.empty()) return text;
  constexpr std::string_view kIs = " = ";  // of a line of normalize_text: "m = rowmax(score)"
  std::set<std::string> names;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const size_t is = line.find(kIs);
    add_names(is == std::string_view::npos ? line : line.substr(is + kIs.size()), spec, names);
  }
  std::string lines = text;
  for (const auto& [name, stands_for] : spec.lets) {
    if (names.contains(name)) lines += fmt::format("\n{} = {}", name, stands_for);
  }
  return lines;
}

}  // namespace attngen::spec
