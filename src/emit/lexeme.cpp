#include "emit/lexeme.h"

#include "text/characters.h"

namespace attngen::emit {

using text::is_word;
namespace {

size_t block_comment_end(std::string_view text, size_t from, bool& open) {
  const size_t close = text.find("*/", from);
  open = close == std::string_view::npos;
  return open ? text.size() : close + 2;
}

size_t string_end(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace

Piece first_piece(std::string_view text, bool in_comment) {
  bool open = false;
  if (in_comment || text.starts_with("/*")) {
    const size_t end = block_comment_end(text, in_comment ? 0 : 2, open);
    return {Lexeme::BlockComment, text.substr(0, end), open};
  }
  if (text.starts_with("//")) return {Lexeme::LineComment, text};
  if (text[0] == '"' || text[0] == '\'') return {Lexeme::String, text.substr(0, string_end(text))};
  if (!is_word(text[0])) return {Lexeme::Other, text.substr(0, 1)};
  // A number takes its digit separators along, so that 1'000 opens no character literal.
  const bool number = text::is_digit(text[0]);
  size_t end = 1;
  while (end < text.size() && (is_word(text[end]) || (number && text[end] == '\''))) ++end;
  return {Lexeme::Word, text.substr(0, end)};
}

}  // namespace attngen::emit
