// Line breaks of expressions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attngen::emit {

// A statement that is too long for a line, `return value;`, `target = value;` or one of these
// behind `if (condition)`, broken as .clang-format has it: behind `=` where the value fits below
// it, else behind operators, the loosest first, and commas; what follows stands below what it
// belongs to. Ends in a newline; nothing of a statement that is of another form, or that does not
// fit so.
std::optional<std::string> broken_statement(std::string_view line);

}  // namespace attngen::emit
