// Spelling of device functions: signatures, bodies, line breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/print.h"

namespace attngen::emit {

inline constexpr size_t kColumns = 100;  // of emitted code

// A line broken at spaces so that it fits 100 columns where it can; further lines are indented by
// four more. Ends in a newline.
std::string wrapped(std::string_view line);

// Of a number on the device: "float" or "int".
const char* number_type(const expr::Expr& number);

// Lines, each of which ends in a newline, two columns further in, but for the preprocessor's.
std::string indented(std::string_view lines);

// Whether `word` occurs as a whole identifier; and not only as a member's, such as an input's.
bool has_word(std::string_view text, std::string_view word);
bool has_name(std::string_view text, std::string_view word);
// Emitted text without its comments.
std::string code_of(std::string_view text);
// Whether it is called: as `function(...)` or `function<...>(...)`.
bool calls(std::string_view text, std::string_view function);

// `__device__ __forceinline__ result name(type a, type) {body}`, the names of parameters that the
// body does not use left out. A parameter's name is its last word: "const Row& row",
// "float (&scores)[8]". The body's lines end in newlines.
struct DeviceFunction {
  std::string result, name;
  std::vector<std::string> parameters;
  std::string body;
  std::string template_line = {};  // "template <bool kMasked>"
};
std::string text_of(const DeviceFunction& function);

// `target = value;` with the statements that it needs, indented by two.
std::string assignment(const std::string& target, const expr::Expr& value,
                       const expr::Names& names);
// `return value;` likewise.
std::string returned(const expr::Expr& value, const expr::Names& names);

}  // namespace attngen::emit
