#include "emit/rewrite.h"

#include "emit/lexeme.h"
#include "text/characters.h"

namespace attngen::emit {

using text::is_word;

Rewriter::Rewriter(const Values& values, std::string_view name)
    : values_(values), prefix_(std::string(name) + "_"), upper_prefix_(text::upper(name) + "_") {}

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
