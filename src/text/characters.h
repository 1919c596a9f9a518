// Kinds of characters, whatever the locale.
#pragma once

namespace attngen::text {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Of a C identifier.
inline bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace attngen::text
