// Characters that look like plain ones, or like nothing at all: an error shows them by their codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attngen::text {

// The bytes of the character that a text begins with: the lead byte and what continues it.
size_t character_length(std::string_view text);

// Its number, U+00A0 as 0xA0; of a broken one anything.
uint32_t code_of(std::string_view text);

// "U+00A0 (no-break space)" of the character of several bytes that a text begins with; of one that
// looks like no other the code alone.
std::string character_name(std::string_view text);

// What stands in the place of that character where it was not meant: " " of a no-break space, "" of
// what has no width, a quote of ASCII's. Null of all others.
const char* plain_character(std::string_view text);

// With the plain characters in their places.
std::string with_plain_characters(std::string_view text);

// With "<U+00A0>" in their places: what a message quotes can be told from what was meant.
std::string with_codes(std::string_view text);

}  // namespace attngen::text
