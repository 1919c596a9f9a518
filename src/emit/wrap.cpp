#include "emit/wrap.h"

#include <algorithm>
#include <array>
#include <vector>

#include "emit/device_text.h"

namespace attngen::emit {
namespace {

using std::string_view;
using Text = std::optional<std::string>;

// From the loosest. Printed expressions have a space on either side of all of them.
constexpr std::array<string_view, 10> kOperators{
    " || ", " && ", " | ", " ^ ", " & ", " == != ", " < > <= >= ", " << >> ", " + - ", " * / % "};

bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

// Calls `visit(at)` for each space outside brackets until it returns false.
template <typename Visit>
void for_spaces(string_view text, Visit visit) {
  long depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (opens(text[at])) ++depth;
    if (closes(text[at])) --depth;
    if (text[at] == ' ' && depth == 0 && !visit(at)) return;
  }
}

// The word between the space before it and the next: "&&" of "a && b".
string_view word_behind(string_view text, size_t space) {
  const size_t end = std::min(text.find(' ', space + 1), text.size());
  return text.substr(space + 1, end - space - 1);
}

// At which of the levels an expression is to be broken first: their number where at none.
size_t loosest(string_view text) {
  size_t best = kOperators.size();
  for_spaces(text, [&](size_t at) {
    const std::string word = " " + std::string(word_behind(text, at)) + " ";
    for (size_t level = 0; level < best; ++level) {
      if (kOperators[level].find(word) != string_view::npos) best = level;
    }
    return true;
  });
  return best;
}

// The operands of the loosest operators, each with the operator behind it, or what commas separate.
std::vector<string_view> parts_of(string_view text) {
  std::vector<string_view> parts;
  const size_t level = loosest(text);
  size_t begin = 0;
  for_spaces(text, [&](size_t at) {
    const size_t before = std::min(text.rfind(' ', at - 1) + 1, at);
    const std::string word = " " + std::string(text.substr(before, at - before)) + " ";
    const bool is_operator = level < kOperators.size() && before > begin &&
                             kOperators[level].find(word) != string_view::npos;
    if (!is_operator) return true;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
    return true;
  });
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<string_view> arguments_of(string_view text) {
  std::vector<string_view> parts;
  size_t begin = 0;
  for_spaces(text, [&](size_t at) {
    if (text[at - 1] != ',') return true;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
    return true;
  });
  parts.push_back(text.substr(begin));
  return parts;
}

Text broken(string_view text, size_t column, size_t tail);

// As many parts on a line as fit, but none behind one of several lines; each line from `column` on,
// with room for `tail` bytes at the end.
Text filled(const std::vector<string_view>& parts, size_t column, size_t tail) {
  std::string result;
  size_t at = column;
  for (const string_view& part : parts) {
    const bool first = &part == &parts.front();
    const size_t behind = &part == &parts.back() ? tail : 0;
    if (!first && at + 1 + part.size() + behind <= kColumns) {
      result.append(" ").append(part);
      at += 1 + part.size();
      continue;
    }
    const Text lines = broken(part, column, behind);
    if (!lines) return std::nullopt;
    if (!first) result.append("\n").append(column, ' ');
    result += *lines;
    at = lines->find('\n') == std::string::npos ? column + lines->size() : kColumns;
  }
  return result;
}

// `head(...)` or `head[...]`, with an operator or a comma behind it: broken inside.
Text broken_inside(string_view text, size_t column, size_t tail) {
  const auto* const open = std::ranges::find_if(text, opens);
  const size_t close = text.find_last_of(")]}");
  if (open == text.end() || close == string_view::npos) return std::nullopt;
  const auto begin = static_cast<size_t>(open - text.begin()) + 1;
  const string_view inside = text.substr(begin, close - begin);
  long depth = 0;
  for (const char c : inside) {
    depth += opens(c) ? 1 : closes(c) ? -1 : 0;
    if (depth < 0) return std::nullopt;  // of two pairs side by side
  }
  const string_view behind = text.substr(close);
  Text lines = filled(arguments_of(inside), column + begin, behind.size() + tail);
  if (!lines) return std::nullopt;
  return std::string(text.substr(0, begin)).append(*lines).append(behind);
}

// The expression in lines, the first of which begins at `column`.
Text broken(string_view text, size_t column, size_t tail) {
  if (column + text.size() + tail <= kColumns) return std::string(text);
  if (text.find(" ? ") != string_view::npos && loosest(text) == kOperators.size())
    return std::nullopt;
  const std::vector<string_view> parts = parts_of(text);
  return parts.size() > 1 ? filled(parts, column, tail) : broken_inside(text, column, tail);
}

Text broken_value(string_view head, string_view value, size_t indent) {
  const std::string below = std::string(indent + 4, ' ');
  if (head.ends_with('=') && below.size() + value.size() <= kColumns) {
    return std::string(head) + "\n" + below + std::string(value) + "\n";
  }
  const Text lines = broken(value.substr(0, value.size() - 1), head.size() + 1, 1);
  if (!lines) return std::nullopt;
  return std::string(head) + " " + *lines + ";\n";
}

}  // namespace

Text broken_statement(string_view line) {
  const size_t indent = line.find_first_not_of(' ');
  if (indent == string_view::npos || !line.ends_with(';')) return std::nullopt;
  const string_view statement = line.substr(indent);
  if (statement.starts_with("return ")) {
    return broken_value(line.substr(0, indent + 6), line.substr(indent + 7), indent);
  }
  size_t end = 0;
  const bool is_if = statement.starts_with("if (");
  for_spaces(statement, [&](size_t at) {
    if (at > 2 && statement[at - 1] == (is_if ? ')' : '=')) end = indent + at;
    return end == 0;
  });
  if (end == 0) return std::nullopt;
  if (!is_if) return broken_value(line.substr(0, end), line.substr(end + 1), indent);
  return std::string(line.substr(0, end)) + "\n" +
         wrapped(std::string(indent + 2, ' ').append(line.substr(end + 1)));
}

}  // namespace attngen::emit
