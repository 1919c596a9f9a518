#include "emit/rewrite.h"

#include <algorithm>

#include "text/characters.h"

namespace attngen::emit {

using text::is_word;
namespace {

// One lexical piece of a line.
enum class Lexeme { Word, String, LineComment, BlockComment, Other };
struct Piece {
  Lexeme kind;
  std::string_view text;
  bool open = false;  // a block comment that the line does not end
};

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

// The piece that `text` (not empty) begins with.
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
  const bool number = text[0] >= '0' && text[0] <= '9';
  size_t end = 1;
  while (end < text.size() && (is_word(text[end]) || (number && text[end] == '\''))) ++end;
  return {Lexeme::Word, text.substr(0, end)};
}

}  // namespace

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

Rewriter::Rewriter(const Values& values, std::string_view name)
    : values_(values), prefix_(std::string(name) + "_"), upper_prefix_(upper(name) + "_") {}

std::string Rewriter::word(std::string_view token, bool is_code) {
  constexpr std::string_view kPrefix = "attention_";
  constexpr std::string_view kUpperPrefix = "ATTENTION_";
  if (token.starts_with(kPrefix)) return prefix_ + std::string(token.substr(kPrefix.size()));
  if (token.starts_with(kUpperPrefix)) {
    return upper_prefix_ + std::string(token.substr(kUpperPrefix.size()));
  }
  if (!is_code || !token.starts_with("ATTN_")) return std::string(token);
  const auto found = values_.find(token);
  if (found == values_.end()) {
    if (unknown_.empty()) unknown_ = token;
    return std::string(token);
  }
  return found->second.starts_with('-') ? "(" + found->second + ")" : found->second;
}

std::string Rewriter::line(std::string_view text) {
  unknown_.clear();
  std::string result;
  while (!text.empty()) {
    const Piece piece = first_piece(text, in_comment_);
    in_comment_ = piece.open;
    text.remove_prefix(piece.text.size());
    if (piece.kind == Lexeme::Word) {
      result += word(piece.text, true);
      continue;
    }
    // Words inside a comment or string, and everything else as it is.
    for (std::string_view rest = piece.text; !rest.empty();) {
      size_t length = 1;
      if (is_word(rest[0])) {
        while (length < rest.size() && is_word(rest[length])) ++length;
      }
      result += word(rest.substr(0, length), false);
      rest.remove_prefix(length);
    }
  }
  return result;
}

std::string Rewriter::code(std::string_view text) const {
  std::string result;
  for (bool in_comment = in_comment_; !text.empty();) {
    const Piece piece = first_piece(text, in_comment);
    in_comment = piece.open;
    text.remove_prefix(piece.text.size());
    if (piece.kind != Lexeme::LineComment && piece.kind != Lexeme::BlockComment)
      result += piece.text;
  }
  return result;
}

}  // namespace attngen::emit
