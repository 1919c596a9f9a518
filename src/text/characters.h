// Kinds of characters, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace attngen::text {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || is_capital(c); }
// Of a C identifier.
inline bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Blanks and line ends to one space each, none at the ends.
inline std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_space(c)) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

inline std::string_view trim_end(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return trim_end(text);
}

// Capitals as small letters.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}
// Small letters as capitals.
inline std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = is_letter(c) && !is_capital(c) ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

}  // namespace attngen::text
