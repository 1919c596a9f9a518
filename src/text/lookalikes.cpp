#include "text/lookalikes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace attngen::text {
namespace {

// A range of characters that share a name.
struct Lookalikes {
  uint32_t first, last;
  const char* name;
  const char* plain;
};

constexpr Lookalikes kLookalikes[] = {
    {0x00A0, 0x00A0, "no-break space", " "},       {0x00AD, 0x00AD, "soft hyphen", ""},
    {0x061C, 0x061C, "direction mark", ""},        {0x2000, 0x200A, "wide or narrow space", " "},
    {0x200B, 0x200B, "zero-width space", ""},      {0x200C, 0x200D, "zero-width joiner", ""},
    {0x200E, 0x200F, "direction mark", ""},        {0x2018, 0x201B, "curly quote", "'"},
    {0x201C, 0x201F, "curly quote", "\""},         {0x2028, 0x2029, "line separator", " "},
    {0x202A, 0x202E, "direction mark", ""},        {0x202F, 0x202F, "narrow no-break space", " "},
    {0x205F, 0x205F, "wide or narrow space", " "}, {0x2060, 0x2060, "word joiner", ""},
    {0x2066, 0x2069, "direction mark", ""},        {0x3000, 0x3000, "ideographic space", " "},
    {0xFEFF, 0xFEFF, "byte order mark", ""},
};

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

const Lookalikes* find_lookalike(std::string_view text) {
  if (character_length(text) == 1) return nullptr;  // of ASCII, or broken
  const uint32_t code = code_of(text);
  const auto* found =
      std::find_if(std::begin(kLookalikes), std::end(kLookalikes),
                   [&](const Lookalikes& l) { return l.first <= code && code <= l.last; });
  return found == std::end(kLookalikes) ? nullptr : found;
}

// The text with its lookalikes replaced by what `replacement` makes of them.
template <typename Replacement>
std::string without_lookalikes(std::string_view text, const Replacement& replacement) {
  std::string out;
  while (!text.empty()) {
    const size_t length = character_length(text);
    out +=
        find_lookalike(text) != nullptr ? replacement(text) : std::string(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

size_t character_length(std::string_view text) {
  if (byte_of(text[0]) < 0xC0) return 1;
  size_t length = 1;
  while (length < std::min<size_t>(text.size(), 4) && (byte_of(text[length]) & 0xC0U) == 0x80U) {
    ++length;
  }
  return length;
}

uint32_t code_of(std::string_view text) {
  const size_t length = character_length(text);
  if (length == 1) return byte_of(text[0]);
  uint32_t code = byte_of(text[0]) & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6U | (byte_of(text[i]) & 0x3FU);
  return code;
}

std::string character_name(std::string_view text) {
  const Lookalikes* known = find_lookalike(text);
  const std::string code = fmt::format("U+{:04X}", code_of(text));
  return known == nullptr ? code : fmt::format("{} ({})", code, known->name);
}

const char* plain_character(std::string_view text) {
  const Lookalikes* known = find_lookalike(text);
  return known == nullptr ? nullptr : known->plain;
}

std::string with_plain_characters(std::string_view text) {
  return without_lookalikes(text, [](std::string_view at) { return plain_character(at); });
}

std::string with_codes(std::string_view text) {
  return without_lookalikes(
      text, [](std::string_view at) { return fmt::format("<U+{:04X}>", code_of(at)); });
}

}  // namespace attngen::text
