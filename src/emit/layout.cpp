#include "emit/layout.h"

#include <algorithm>
#include <array>

#include "emit/device_text.h"
#include "emit/lexeme.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

LaidLines laid_lines(std::string_view text) {
  LaidLines lines;
  bool continues = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool fixed = continues || line.starts_with('#');
    continues = fixed && line.ends_with('\\');
    lines.push_back({line, fixed});
  }
  return lines;
}

size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Where the comment of a line begins: at most its size.
size_t comment_at(std::string_view line) {
  size_t at = 0;
  while (at < line.size()) {
    const Piece piece = first_piece(line.substr(at), false);
    if (piece.kind == Lexeme::LineComment) break;
    at += piece.text.size();
  }
  return at;
}

// Behind the parenthesis that closes the one at `open`, or npos.
size_t behind_parentheses(std::string_view line, size_t open) {
  size_t depth = 0;
  for (size_t at = open; at < line.size();) {
    const Piece piece = first_piece(line.substr(at), false);
    at += piece.text.size();
    if (piece.text == "(") ++depth;
    if (piece.text == ")" && --depth == 0) return at;
  }
  return std::string_view::npos;
}

// Whether a line of code (or what is left of it) begins a statement that controls others.
bool controls(std::string_view code) {
  code.remove_prefix(indent_of(code));
  constexpr std::array kWords{"if", "for", "while", "switch", "do", "else", "}"};
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return code.starts_with(word) && (code.size() == word.size() || code[word.size()] == ' ');
  });
}

// The line with the brace of a function's body. (A struct's has no parentheses.)
bool begins_function(const LaidLine& line) {
  return is_code(line) && (line.text.ends_with(") {") || line.text.ends_with(") const {")) &&
         !controls(line.text);
}

// Whether a body that is empty was joined to the head in line i.
bool join_empty_body(LaidLines& lines, size_t i) {
  if (lines[i + 1].text != std::string(indent_of(lines[i + 1].text), ' ') + "}") return false;
  lines[i].text += '}';
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  return true;
}

}  // namespace

std::string_view code_of(const LaidLine& line) {
  if (line.fixed) return {};
  return text::trim_end(std::string_view(line.text).substr(0, comment_at(line.text)));
}

std::string_view comment_behind(const LaidLine& line) {
  if (code_of(line).empty()) return {};
  return std::string_view(line.text).substr(comment_at(line.text));
}

bool is_code(const LaidLine& line) {
  return !line.text.empty() && code_of(line).size() == line.text.size();
}

void join_namespaces(LaidLines& lines) {
  const auto is_blank = [&](auto at) { return at != lines.end() && at->text.empty(); };
  const auto says_nothing = [](const LaidLine& line) {
    return line.text.empty() || line.text.starts_with("//");
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text != "}  // namespace") continue;
    const auto end = lines.begin() + static_cast<std::ptrdiff_t>(i);
    const auto begin = std::find_if_not(end + 1, lines.end(), says_nothing);
    if (begin == lines.end() || begin->text != "namespace {") continue;
    if (!is_blank(end + 1) || !is_blank(begin + 1)) continue;
    // Of both the blank line behind them goes along: one is before them.
    lines.erase(begin, begin + 2);
    lines.erase(end, end + 2);
  }
}

void break_behind_bounds(LaidLines& lines) {
  constexpr std::string_view kBounds = "__launch_bounds__(";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!is_code(lines[i])) continue;
    const size_t at = lines[i].text.find(kBounds);
    if (at == std::string::npos) continue;
    const size_t end = behind_parentheses(lines[i].text, at + kBounds.size() - 1);
    if (end == std::string::npos) continue;
    if (end < lines[i].text.size() && lines[i].text.size() > kColumns) {
      const std::string rest = lines[i].text.substr(end + 1);
      lines[i].text.resize(end);
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, {"    " + rest, false});
    } else if (end == lines[i].text.size() && i + 1 < lines.size() && is_code(lines[i + 1])) {
      const std::string_view next = std::string_view(lines[i + 1].text).substr(4);
      if (!next.ends_with('{') || end + 1 + next.size() > kColumns) continue;
      lines[i].text.append(" ").append(next);
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
}

void break_behind_conditions(LaidLines& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i].text;
    if (line.size() <= kColumns || !is_code(lines[i]) || !line.ends_with(';')) continue;
    const size_t indent = indent_of(line);
    if (line.compare(indent, 4, "if (") != 0) continue;
    const size_t end = behind_parentheses(line, indent + 3);
    if (end == std::string::npos) continue;
    const std::string statement = std::string(indent + 2, ' ') + line.substr(end + 1);
    std::string condition;
    lines[i].text.resize(end);
    if (const size_t at = line.find("; "); end > kColumns && at < end) {
      condition = std::string(indent + 4, ' ') + line.substr(at + 2);
      lines[i].text.resize(at + 1);
    }
    auto next =
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, {statement, false});
    if (!condition.empty()) lines.insert(next, {condition, false});
  }
}

void shorten_bodies(LaidLines& lines) {
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    if (!begins_function(lines[i]) || join_empty_body(lines, i) || i + 2 >= lines.size()) continue;
    std::string& head = lines[i].text;
    const LaidLine& body = lines[i + 1];
    if (lines[i + 2].text != std::string(indent_of(head), ' ') + "}") continue;
    if (!is_code(body) || !body.text.ends_with(';') || controls(body.text)) continue;
    const bool whole = behind_parentheses(head, head.find('(')) != std::string::npos;
    const bool is_template = i > 0 && lines[i - 1].text.starts_with("template <");
    const std::string statement = body.text.substr(indent_of(body.text));
    if (!whole || is_template || head.size() + 1 + statement.size() + 2 > kColumns) continue;
    head.append(" ").append(statement).append(" }");
    const auto next = lines.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    lines.erase(next, next + 2);
  }
}

void open_bodies(LaidLines& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string line = lines[i].text;
    const size_t at = line.find(") { ");
    if (line.size() <= kColumns || !is_code(lines[i]) || at == std::string::npos) continue;
    if (!line.ends_with("; }") || controls(line)) continue;
    const std::string indent(indent_of(line), ' ');
    lines[i].text.resize(at + 3);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                 {{indent + "  " + line.substr(at + 4, line.size() - at - 6), false},
                  {indent + "}", false}});
  }
}

void align_comments(LaidLines& lines) {
  for (size_t i = 0; i < lines.size();) {
    size_t end = i, column = 0, last_column = kColumns;
    for (; end < lines.size() && !comment_behind(lines[end]).empty(); ++end) {
      const size_t least = code_of(lines[end]).size() + 2;
      const size_t size = comment_behind(lines[end]).size();
      const size_t most = size > kColumns ? least : std::max(kColumns - size, least);
      if (end > i && (lines[end].text.starts_with('}') || lines[i].text.starts_with('}') ||
                      least > last_column || most < column)) {
        break;
      }
      column = std::max(column, least);
      last_column = std::min(last_column, most);
    }
    for (size_t k = i; k < end; ++k) {
      std::string line(code_of(lines[k]));
      line.resize(column, ' ');
      lines[k].text = line.append(comment_behind(lines[k]));
    }
    i = std::max(end, i + 1);
  }
}

std::string laid_out(std::string_view text) {
  LaidLines lines = laid_lines(text);
  join_namespaces(lines);
  break_behind_bounds(lines);
  break_behind_conditions(lines);
  open_bodies(lines);
  fill_lists(lines);
  shorten_bodies(lines);
  align_comments(lines);
  std::string result;
  for (const LaidLine& line : lines) result.append(line.text).append("\n");
  return result;
}

}  // namespace attngen::emit
