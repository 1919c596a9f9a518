#include "emit/device_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "emit/wrap.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

// The name's place inside a parameter: its last word outside brackets and parentheses, or the one
// after `&` inside the parentheses of a reference to an array.
struct Range {
  size_t begin = 0, end = 0;
};
Range name_range(std::string_view parameter) {
  const size_t array = parameter.find("(&");
  size_t end = array == std::string_view::npos ? parameter.size() : parameter.find(')', array);
  size_t begin = end;
  while (begin > 0 && text::is_word(parameter[begin - 1])) --begin;
  return {begin, end};
}

std::string without_unused_name(const std::string& parameter, std::string_view body) {
  const Range range = name_range(parameter);
  const std::string name = parameter.substr(range.begin, range.end - range.begin);
  if (has_word(body, name)) return parameter;
  std::string result = parameter;
  result.erase(range.begin, range.end - range.begin);
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

// The space at which to break a line so that at most `room` bytes stay: far to the right, and
// inside few parentheses.
size_t break_of(std::string_view line, size_t begin, size_t room) {
  constexpr long kDepthCost = 20;  // bytes of line that one pair of parentheses less is worth
  size_t best = std::string_view::npos;
  long depth = 0, best_value = 0;
  for (size_t i = begin; i < line.size() && (i <= room || best == std::string_view::npos); ++i) {
    if (line[i] == '(' || line[i] == '[') ++depth;
    if (line[i] == ')' || line[i] == ']') --depth;
    if (line[i] != ' ' || i == begin) continue;
    const long value = static_cast<long>(i) - kDepthCost * depth;
    if (best == std::string_view::npos || value >= best_value) {
      best = i;
      best_value = value;
    }
  }
  return best;
}

size_t find_word(std::string_view text, std::string_view word, size_t from) {
  for (size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !text::is_word(text[at - 1])) &&
        (end == text.size() || !text::is_word(text[end]))) {
      return at;
    }
  }
  return std::string_view::npos;
}

std::string wrapped_lines(std::string_view lines) {
  std::string result;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    result += wrapped(lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  return result;
}

}  // namespace

const char* number_type(const expr::Expr& number) {
  return number.type() == expr::Type::Int ? "int" : "float";
}

std::string wrapped(std::string_view line) {
  if (line.size() > kColumns) {
    if (std::optional<std::string> broken = broken_statement(line)) return *std::move(broken);
  }
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string result;
  std::string_view rest = line;
  std::string prefix;
  while (prefix.size() + rest.size() > kColumns) {
    const size_t cut = break_of(rest, result.empty() ? indent : 0, kColumns - prefix.size());
    if (cut == std::string_view::npos) break;
    result.append(prefix).append(rest.substr(0, cut)).append("\n");
    rest.remove_prefix(cut + 1);
    prefix.assign(indent + 4, ' ');
  }
  return result.append(prefix).append(rest).append("\n");
}

std::string indented(std::string_view lines) {
  std::string result;
  while (!lines.empty()) {
    const size_t end = lines.find('\n') + 1;
    if (lines.front() != '#') result += "  ";
    result += lines.substr(0, end);
    lines.remove_prefix(end);
  }
  return result;
}

bool has_word(std::string_view text, std::string_view word) {
  return find_word(text, word, 0) != std::string_view::npos;
}

bool has_name(std::string_view text, std::string_view word) {
  for (size_t at = find_word(text, word, 0); at != std::string_view::npos;
       at = find_word(text, word, at + 1)) {
    if (at == 0 || text[at - 1] != '.') return true;
  }
  return false;
}

std::string code_of(std::string_view text) {
  std::string code;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    code.append(line.substr(0, line.find("//"))).append("\n");
    text.remove_prefix(end);
  }
  return code;
}

bool calls(std::string_view text, std::string_view function) {
  for (size_t at = find_word(text, function, 0); at != std::string_view::npos;
       at = find_word(text, function, at + 1)) {
    const std::string_view after = text.substr(at + function.size(), 1);
    if (after == "(" || after == "<") return true;
  }
  return false;
}

std::string text_of(const DeviceFunction& function) {
  std::string head =
      fmt::format("__device__ __forceinline__ {} {}(", function.result, function.name);
  const std::string indent(head.size(), ' ');
  std::string result =
      function.template_line.empty() ? std::string() : function.template_line + "\n";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const bool last = i + 1 == function.parameters.size();
    const std::string parameter =
        without_unused_name(function.parameters[i], function.body) + (last ? ") {" : ",");
    const bool first_on_line = head == indent || i == 0;
    if (!first_on_line && head.size() + 1 + parameter.size() > kColumns) {
      result += head + "\n";
      head = indent;
    } else if (!first_on_line) {
      head += ' ';
    }
    head += parameter;
  }
  return result + head + "\n" + function.body + "}\n";
}

std::string assignment(const std::string& target, const expr::Expr& value,
                       const expr::Names& names) {
  const expr::Statements printed = expr::print_c_statements(value, expr::Dialect::Device, names, 4);
  if (printed.text.empty()) return wrapped(fmt::format("  {} = {};", target, printed.value));
  // The braces keep the temporaries of several assignments apart.
  return "  {\n" + wrapped_lines(printed.text) +
         wrapped(fmt::format("    {} = {};", target, printed.value)) + "  }\n";
}

std::string returned(const expr::Expr& value, const expr::Names& names) {
  const expr::Statements printed = expr::print_c_statements(value, expr::Dialect::Device, names, 2);
  return wrapped_lines(printed.text) + wrapped(fmt::format("  return {};", printed.value));
}

}  // namespace attngen::emit
