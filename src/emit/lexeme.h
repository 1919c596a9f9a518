// The lexical pieces of a line of C text.
#pragma once

#include <string_view>

namespace attngen::emit {

enum class Lexeme { Word, String, LineComment, BlockComment, Other };
struct Piece {
  Lexeme kind;
  std::string_view text;
  bool open = false;  // a block comment that the line does not end
};

// The piece that `text` (not empty) begins with: a word, a whole string or comment, or one other
// character.
Piece first_piece(std::string_view text, bool in_comment);

}  // namespace attngen::emit
