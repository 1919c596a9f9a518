#include "spec/alignment.h"

#include <algorithm>

#include "text/characters.h"

namespace attngen::spec {
namespace {

// The value of `digits` hexadecimal digits at `at`; nothing else is promised for other characters.
uint32_t hexadecimal(std::string_view source, size_t at, size_t digits) {
  uint32_t value = 0;
  for (char c : source.substr(std::min(at, source.size()), digits)) {
    const auto digit = static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    value = value * 16 + (digit & 15);
  }
  return value;
}

size_t utf8_length(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

// An escape sequence of a double-quoted string: source bytes read, value bytes written.
struct Escape {
  size_t read = 2;
  size_t written = 1;
};

Escape escape_at(std::string_view source, size_t at) {
  const char kind = at + 1 < source.size() ? source[at + 1] : '\0';
  switch (kind) {
    case '\n':
      return {2, 0};  // the line goes on
    case '\r':
      return {3, 0};
    case '_':
    case 'N':
      return {2, 2};  // U+00A0, U+0085
    case 'L':
    case 'P':
      return {2, 3};  // U+2028, U+2029
    case 'x':
      return {4, utf8_length(hexadecimal(source, at + 2, 2))};
    case 'U':
      return {10, utf8_length(hexadecimal(source, at + 2, 8))};
    case 'u': {
      const uint32_t code = hexadecimal(source, at + 2, 4);
      if (code >= 0xD800 && code < 0xDC00) return {12, 4};  // a surrogate pair, "\ud83d\ude00"
      return {6, utf8_length(code)};
    }
    default:
      return {};
  }
}

}  // namespace

Alignment align(std::string_view source, size_t begin, std::string_view value) {
  Alignment unknown{std::vector<uint32_t>(value.size() + 1, static_cast<uint32_t>(begin)), begin};
  if (begin >= source.size()) return unknown;
  const char style = source[begin];
  const bool quoted = style == '"' || style == '\'';
  const bool block = style == '|' || style == '>';

  Alignment result;
  result.bytes.reserve(value.size() + 1);
  size_t at = begin + (quoted ? 1 : 0);
  if (block) at = std::min(source.find('\n', begin), source.size() - 1) + 1;
  const auto emit = [&] { result.bytes.push_back(static_cast<uint32_t>(at)); };

  while (result.bytes.size() < value.size()) {
    if (at >= source.size()) return unknown;
    const char wanted = value[result.bytes.size()];
    if (style == '"' && source[at] == '\\') {
      const Escape escape = escape_at(source, at);
      for (size_t i = 0; i < escape.written && result.bytes.size() < value.size(); ++i) emit();
      at += escape.read;
    } else if (source[at] == wanted) {
      emit();
      at += style == '\'' && wanted == '\'' ? 2 : 1;
    } else if (!text::is_space(source[at])) {
      return unknown;
    } else if (text::is_space(wanted)) {
      emit();  // a folded line: the blank stands for the line end, whose indentation is skipped
               // next
    } else {
      ++at;
    }
  }
  emit();
  if (quoted) {
    while (at < source.size() && source[at] != style) ++at;
    ++at;
  }
  result.end = std::min(at, source.size());
  return result;
}

}  // namespace attngen::spec
