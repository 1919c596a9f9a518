#include "emit/comment.h"

#include <algorithm>

#include "emit/device_text.h"

namespace attngen::emit {
namespace {

// The next line's part of `text`, at most `room` bytes, cut at a space where there is one.
std::string_view take_line(std::string_view& text, size_t room) {
  size_t end = text.size();
  if (end > room) {
    end = text.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = text.find(' ');
    if (end == std::string_view::npos) end = text.size();
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return line;
}

std::string cleaned(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  result.erase(result.find_last_not_of(' ') + 1);
  return result;
}

// The text in lines that begin with `first`, then with `further`.
std::string in_lines(std::string_view text, std::string first, const std::string& further) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line = cleaned(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    for (std::string_view rest = line; !rest.empty();) {
      result += first;
      result += take_line(rest, kColumns - first.size());
      if (result.ends_with('\\')) result += '.';
      result += '\n';
      first = further;
    }
  }
  return result;
}

}  // namespace

std::string comment(std::string_view lead, std::string_view text, size_t indent) {
  const std::string slashes = "// " + std::string(indent, ' ');
  if (lead.empty()) return in_lines(text, slashes, slashes);
  const std::string further = slashes + "  ";
  const std::string first = slashes + std::string(lead) + ": ";
  const size_t word = std::min(text.find_first_of(" \n"), text.size());
  if (first.size() + word <= kColumns || text.empty()) return in_lines(text, first, further);
  return in_lines(std::string(lead) + ":", slashes, further) + in_lines(text, further, further);
}

std::string commented(const std::vector<CommentedLine>& lines) {
  size_t column = 0;
  for (const CommentedLine& line : lines) {
    if (!line.comment.empty()) column = std::max(column, line.code.size() + 2);
  }
  std::string result;
  for (const CommentedLine& line : lines) {
    const bool fits = column + 3 + line.comment.size() <= kColumns;
    if (!line.comment.empty() && !fits) {
      const std::string slashes = std::string(line.code.find_first_not_of(' '), ' ') + "// ";
      result += in_lines(line.comment, slashes, slashes);
    }
    result += line.code;
    if (!line.comment.empty() && fits) {
      result.append(column - line.code.size(), ' ').append("// ").append(line.comment);
    }
    result += '\n';
  }
  return result;
}

}  // namespace attngen::emit
