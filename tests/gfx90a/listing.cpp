#include "listing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>

namespace gfx90a {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

uint64_t hex(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Fault("not a hexadecimal number in the listing: " + std::string(digits));
  }
  return value;
}

// Commas inside brackets and parentheses belong to one operand: `op_sel:[0,1]`.
std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != ',' || depth > 0) continue;
    if (i == text.size() || depth == 0) {
      operands.emplace_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (operands.size() == 1 && operands[0].empty()) operands.clear();
  return operands;
}

Line parse_line(std::string_view text, std::string_view comment) {
  Line line;
  line.text = trim(text);
  const auto space = line.text.find(' ');
  line.mnemonic = line.text.substr(0, space);
  if (space != std::string::npos) {
    line.operands = split_operands(trim(std::string_view(line.text).substr(space)));
  }
  const auto colon = comment.find(':');
  if (colon == std::string_view::npos) throw Fault("no address in the listing: " + line.text);
  line.address = hex(trim(comment.substr(0, colon)));
  std::string_view words = comment.substr(colon + 1);
  words = trim(words.substr(0, words.find('<')));
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    const auto word = static_cast<uint32_t>(hex(words.substr(0, end)));
    if (line.bytes == 0) line.encoding = word;
    line.bytes += 4;
    words = trim(words.substr(end));
  }
  return line;
}

}  // namespace

std::vector<Line> parse_listing(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto comment = one.find("//");
    if (comment == std::string_view::npos) continue;  // headings, labels, blank lines
    lines.push_back(parse_line(one.substr(0, comment), one.substr(comment + 2)));
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.address < b.address; });
  return lines;
}

std::vector<Line> disassemble(const std::string& objdump, const std::string& path) {
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const std::string command = objdump + " -d --mcpu=gfx90a " + quoted + "'";
  struct Close {
    void operator()(FILE* file) const { pclose(file); }
  };
  std::unique_ptr<FILE, Close> pipe(popen(command.c_str(), "r"));
  if (!pipe) throw Fault("cannot run " + command);
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t got; (got = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
    text.append(buffer.data(), got);
  }
  if (pclose(pipe.release()) != 0) throw Fault(command + " failed");
  return parse_listing(text);
}

}  // namespace gfx90a
