// Text of the user's in the comments of emitted files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attngen::emit {

// `// lead: text` in lines of at most 100 columns, each ending in a newline; the text of a lead is
// indented by two spaces more in its further lines, where it begins if the lead leaves no room, and
// all by `indent`. Line breaks of `text` stay; control characters become spaces, and no line ends
// in a backslash, which would swallow the next one.
std::string comment(std::string_view lead, std::string_view text, size_t indent = 0);

// Lines of code, each with a comment (or none): behind it and below those of its neighbours, or
// above it, in as many lines as it takes, where that would pass 100 columns.
struct CommentedLine {
  std::string code, comment;
};
std::string commented(const std::vector<CommentedLine>& lines);

}  // namespace attngen::emit
