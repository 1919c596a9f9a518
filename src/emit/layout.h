// Line breaks and columns of emitted text.
//
// A template is laid out for all of its `#if`s and for the names of the template. What evaluation
// leaves of it is not what a formatter would write: a list of parameters with a gap, comments below
// others that are gone, a name too long for its line. Here are the kinds that occur, and no more:
// all other lines stay as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attngen::emit {

// A text whose lines are those of .clang-format, except where `#if`s and names changed, made to be.
std::string laid_out(std::string_view text);

struct LaidLine {
  std::string text;
  bool fixed = false;  // of a directive: neither read nor changed
};
using LaidLines = std::vector<LaidLine>;

// The code of a line, without a comment behind it and the spaces before that; "" of a fixed one.
std::string_view code_of(const LaidLine& line);
// The comment behind code, or "".
std::string_view comment_behind(const LaidLine& line);
// A line that is code, and nothing behind it.
bool is_code(const LaidLine& line);

// The steps, in their order; each leaves alone what it cannot improve.

// `}  // namespace` and `namespace {` behind it are no seam.
void join_namespaces(LaidLines& lines);
// `__launch_bounds__(...)` and the kernel's name on a line, or on two.
void break_behind_bounds(LaidLines& lines);
// `if (condition) statement;` that is too long for a line on two or three.
void break_behind_conditions(LaidLines& lines);
// A function on a line that is too long.
void open_bodies(LaidLines& lines);
// Arguments and parameters: as many on a line as fit, below the first.
void fill_lists(LaidLines& lines);
// `{}` of what is empty; a function of one statement on a line where that fits, unless it is a
// template.
void shorten_bodies(LaidLines& lines);
// Comments behind the code of neighbours begin in one column.
void align_comments(LaidLines& lines);

}  // namespace attngen::emit
