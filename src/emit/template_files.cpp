#include "emit/template_files.h"

#include <algorithm>

#include "emit/device_text.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

// "from_bf16" of "__device__ __forceinline__ float from_bf16(uint16_t x) {...}", which a comment
// may precede; "" of what is no function.
std::string_view function_name(std::string_view section) {
  const size_t head = section.find("__forceinline__");
  if (head == std::string_view::npos) return "";
  const size_t end = section.find('(', head);
  size_t begin = end;
  while (text::is_word(section[begin - 1])) --begin;
  return section.substr(begin, end - begin);
}

}  // namespace

std::optional<std::string_view> find_template(std::string_view path) {
  for (const auto& [name, text] : template_files) {
    if (name == path) return text;
  }
  return std::nullopt;
}

std::string_view part_text(std::string_view path) {
  constexpr std::string_view kOnce = "#pragma once\n\n";
  const std::string_view text = find_template(path).value();
  return text.substr(text.find(kOnce) + kOnce.size());
}

std::string called_functions(std::string_view path, std::string_view text) {
  std::string result;
  for (std::string_view rest = part_text(path); !rest.empty();) {
    const size_t end = std::min(rest.find("\n\n"), rest.size() - 1) + 1;
    const std::string_view section = rest.substr(0, end);
    const std::string_view name = function_name(section);
    if (!name.empty() && calls(text, name)) result.append(section).append("\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

}  // namespace attngen::emit
