// Arguments and parameters that fill their lines.
#include <algorithm>
#include <optional>

#include "emit/device_text.h"
#include "emit/layout.h"
#include "emit/lexeme.h"

namespace attngen::emit {
namespace {

// Follows the brackets of code from line to line.
class Brackets {
 public:
  // One piece at `column`; what closes a bracket of before is not followed.
  void take(std::string_view piece, size_t column) {
    if (piece == "(" || piece == "[" || piece == "{") open_.push_back({piece[0], column});
    if ((piece == ")" || piece == "]" || piece == "}") && !open_.empty()) open_.pop_back();
  }
  size_t depth() const { return open_.size(); }
  bool in_parentheses() const { return !open_.empty() && open_.back().kind == '('; }
  size_t column() const { return open_.back().column; }

 private:
  struct Open {
    char kind;
    size_t column;
  };
  std::vector<Open> open_;
};

// A list that is broken behind commas of its own alone, or that stands on a line.
struct List {
  size_t column = 0;               // of its parenthesis
  std::vector<std::string> items;  // each with its comma; the last with what follows it
  size_t end = 0;                  // behind its last line
};

// Adds a line's items, from `at` on; false once the list is at its end.
bool take_items(std::string_view line, size_t at, Brackets& brackets, size_t depth, List& list) {
  size_t begin = at;
  while (at < line.size()) {
    const std::string_view piece = first_piece(line.substr(at), false).text;
    brackets.take(piece, at);
    at += piece.size();
    if (brackets.depth() < depth) {
      list.items.emplace_back(line.substr(begin));
      return false;
    }
    if (piece == "," && brackets.depth() == depth) {
      list.items.emplace_back(line.substr(begin, at - begin));
      begin = std::min(line.find_first_not_of(' ', at), line.size());
    }
  }
  if (begin < line.size()) list.items.emplace_back();  // not broken behind a comma
  return true;
}

// The list whose parenthesis is at `column` of line `first`.
std::optional<List> list_at(const LaidLines& lines, size_t first, size_t column) {
  List list;
  list.column = column;
  Brackets brackets;
  brackets.take("(", column);
  size_t at = column + 1;
  for (size_t i = first; i < lines.size() && is_code(lines[i]); ++i) {
    const std::string_view line = lines[i].text;
    const bool open = take_items(line, at, brackets, 1, list);
    if (open && (list.items.empty() || list.items.back().empty() || !line.ends_with(',')))
      return std::nullopt;
    list.end = i + 1;
    if (!open) return list;
    if (i + 1 < lines.size())
      at = std::min(lines[i + 1].text.find_first_not_of(' '), lines[i + 1].text.size());
  }
  return std::nullopt;
}

// Of a line that ends inside a list the parenthesis of this, of one that is too long that of its
// first list of several, or else of its first: the column.
std::optional<size_t> list_of(std::string_view line) {
  const bool is_long = line.size() > kColumns;
  if (!is_long && !line.ends_with(',')) return std::nullopt;
  if (line.ends_with(" {")) line.remove_suffix(2);
  Brackets brackets;
  std::optional<size_t> first, several;
  for (size_t at = 0; at < line.size();) {
    const std::string_view piece = first_piece(line.substr(at), false).text;
    brackets.take(piece, at);
    at += piece.size();
    if (!brackets.in_parentheses() || brackets.depth() > 1) continue;
    if (!first) first = brackets.column();
    if (piece == "," && !several) several = brackets.column();
  }
  if (brackets.in_parentheses()) return brackets.column();
  if (brackets.depth() > 0 || !is_long) return std::nullopt;
  return several ? several : first;
}

// The list's lines: the first begins with `line`, others with as many spaces as `indent`; none
// where an item does not fit.
LaidLines filled(std::string line, size_t indent, const List& list) {
  LaidLines result;
  bool first = line.size() == indent;
  for (const std::string& item : list.items) {
    if (!first && line.size() + 1 + item.size() > kColumns) {
      result.push_back({std::move(line), false});
      line.assign(indent, ' ');
    } else if (!first) {
      line += ' ';
    }
    first = false;
    line += item;
    if (line.size() > kColumns) return {};
  }
  result.push_back({std::move(line), false});
  return result;
}

// Below the first item; where one is too long for that, four columns behind the statement.
LaidLines filled(std::string_view head, const List& list) {
  LaidLines result = filled(std::string(head), head.size(), list);
  if (!result.empty()) return result;
  const size_t indent = head.find_first_not_of(' ') + 4;
  result = filled(std::string(indent, ' '), indent, list);
  if (!result.empty()) result.insert(result.begin(), {std::string(head), false});
  return result;
}

}  // namespace

void fill_lists(LaidLines& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!is_code(lines[i])) continue;
    const std::optional<size_t> column = list_of(lines[i].text);
    if (!column) continue;
    const std::optional<List> list = list_at(lines, i, *column);
    if (!list) continue;
    const LaidLines replaced =
        filled(std::string_view(lines[i].text).substr(0, *column + 1), *list);
    if (replaced.empty()) continue;
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(i);
    lines.erase(at, lines.begin() + static_cast<std::ptrdiff_t>(list->end));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), replaced.begin(), replaced.end());
    i += replaced.size() - 1;
  }
}

}  // namespace attngen::emit
