#include "text/bytes.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace attngen::text {
namespace {

// The length of the well-formed UTF-8 sequence at `at`, 0 if there is none (Unicode 15, table 3-7).
size_t utf8_sequence(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U;
  };
  const auto follows = [&](size_t count) {
    for (size_t i = 1; i <= count; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) return false;
    }
    return true;
  };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool too_large = first == 0xF4 && second > 0x8F;
    return follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

// Reports the first byte that no text has.
bool check_characters(Diagnostics& diagnostics) {
  const Source& source = diagnostics.source();
  const std::string_view bytes = source.content;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_sequence(bytes, at);
    if (length == 0) {
      const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
      diagnostics.add(diagnostic_at(
          source, at, at + 1,
          fmt::format("invalid UTF-8: byte 0x{:02x}", static_cast<unsigned char>(bytes[at])),
          utf16 ? "save the file as UTF-8" : ""));
      return false;
    }
    const char c = bytes[at];
    const bool line_end = c == '\n' || (c == '\r' && bytes.substr(at + 1, 1) == "\n");
    const bool control = length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F);
    if (control && !line_end && c != '\t') {
      diagnostics.add(diagnostic_at(
          source, at, at + 1,
          fmt::format("control character 0x{:02x} in the text", static_cast<unsigned char>(c))));
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace

std::optional<size_t> check_bytes(Diagnostics& diagnostics, std::string_view what) {
  const std::string& content = diagnostics.source().content;
  if (content.size() > kMaxBytes) {
    Diagnostic diagnostic;
    diagnostic.message =
        fmt::format("the text has more than {} bytes, the most that {} has", kMaxBytes, what);
    diagnostics.add(std::move(diagnostic));
    return std::nullopt;
  }
  if (!check_characters(diagnostics)) return std::nullopt;
  return content.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

}  // namespace attngen::text
