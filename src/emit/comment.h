// Text of the user's in the comments of emitted files.
#pragma once

#include <string>
#include <string_view>

namespace attngen::emit {

// `// lead: text` in lines of at most 100 columns, each ending in a newline; further lines are
// indented by two spaces more. Line breaks of `text` stay; control characters become spaces, and no
// line ends in a backslash, which would swallow the next one.
std::string comment(std::string_view lead, std::string_view text);

}  // namespace attngen::emit
