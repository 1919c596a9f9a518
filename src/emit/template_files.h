// The files of templates/, which the executable carries.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace attngen::emit {

// By their paths there: made by attngen_embed.
extern const std::span<const std::pair<std::string_view, std::string_view>> template_files;

// The text of "hopper/forward.cu".
std::optional<std::string_view> find_template(std::string_view path);

// A part of that name as it goes into a source: what follows its `#pragma once`. It must be there.
std::string_view part_text(std::string_view path);

// Of a part whose functions have empty lines between them: those that the text calls, with an empty
// line after each.
std::string called_functions(std::string_view path, std::string_view text);

}  // namespace attngen::emit
