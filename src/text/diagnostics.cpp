#include "text/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "text/bytes.h"
#include "text/characters.h"
#include "text/lookalikes.h"

namespace attngen::text {
namespace {

constexpr std::string_view kLineEnds = "\r\n";

const char* name_of(Severity severity) { return severity == Severity::Error ? "error" : "warning"; }

// Whether a terminal may be given it as it is: U+0080 to U+009F are commands too, and what is
// spelled in more bytes than it takes may be read as one.
bool is_printable(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return (byte(0) >= 0x20 && byte(0) < 0x7F) || character == "\t";
  constexpr uint32_t kLeast[] = {0xA0, 0x800, 0x10000};  // of 2, 3, 4 bytes
  const size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  return character.size() == length && code_of(character) >= kLeast[length - 2];
}

// With a '?' for each character that is a command to a terminal, and for each that is broken.
std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_length(text));
    out += is_printable(character) ? character : "?";
    text.remove_prefix(character.size());
  }
  return out;
}

// The columns on the screen that the bytes take: the later bytes of a UTF-8 character take none. A
// tab stays a tab, so that columns agree in any terminal.
std::string blank(std::string_view bytes) {
  std::string out;
  for (char c : printable(bytes)) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      out += c == '\t' ? '\t' : ' ';
    }
  }
  return out;
}

// Of a longer line no more bytes are shown before the caret, nor from it on.
constexpr size_t kMostBefore = 80;
constexpr size_t kMostFrom = 160;

// The nearest byte, not after this one, where a character begins.
size_t character_begin(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U)
    --at;
  return at;
}

// The source line, or what stands around the caret, and under it the caret.
std::string excerpt(const Source& source, const Diagnostic& diagnostic) {
  const std::string_view line = source.line(diagnostic.position.line);
  const size_t column =
      std::min(line.size(), static_cast<size_t>(std::max(diagnostic.position.column, 1) - 1));
  const bool is_long = line.size() > kMostBefore + kMostFrom;
  const size_t begin =
      is_long && column > kMostBefore ? character_begin(line, column - kMostBefore) : 0;
  const std::string cut = begin > 0 ? "..." : "";
  const std::string before = cut + std::string(line.substr(begin, column - begin));
  const std::string from = shortened(line.substr(column), is_long ? kMostFrom : line.size());
  const std::string marked = from.substr(0, static_cast<size_t>(std::max(diagnostic.length, 1)));
  const size_t length = std::max<size_t>(blank(marked).size(), 1);
  return fmt::format("{:>5} | {}\n      | {}^{}\n", diagnostic.position.line,
                     printable(before + from), blank(before), std::string(length - 1, '~'));
}

std::string render_gcc(const Source& source, const Diagnostic& diagnostic) {
  std::string out = printable(source.name);
  if (diagnostic.position.line > 0) {
    out += fmt::format(":{}:{}", diagnostic.position.line, diagnostic.position.column);
  }
  out += fmt::format(": {}: {}\n", name_of(diagnostic.severity),
                     printable(with_codes(diagnostic.message)));
  if (diagnostic.position.line > 0) {
    out += excerpt(source, diagnostic);
  }
  if (!diagnostic.help.empty()) {
    out += fmt::format("help: {}\n", printable(with_codes(diagnostic.help)));
  }
  return out;
}

// In one line. JSON has an escape for all commands to a terminal, but asks for those of ASCII's
// first 32 only.
std::string json_line(const nlohmann::ordered_json& object) {
  std::string out;
  const std::string text =
      object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view character = rest.substr(0, character_length(rest));
    out += is_printable(character) ? std::string(character)
                                   : fmt::format("\\u{:04x}", code_of(character));
    rest.remove_prefix(character.size());
  }
  return out + "\n";
}

std::string render_json(const Source& source, const Diagnostic& diagnostic) {
  return json_line({
      {"file", source.name},
      {"line", diagnostic.position.line},
      {"column", diagnostic.position.column},
      {"severity", name_of(diagnostic.severity)},
      {"message", with_codes(diagnostic.message)},
      {"help", with_codes(diagnostic.help)},
      {"pointer", diagnostic.pointer},
  });
}

// Insertions, deletions, changes and swaps of neighbours: optimal string alignment.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

bool has_same_letters(std::string_view a, std::string_view b) {
  return std::ranges::is_permutation(a, b);
}

// The only candidate that the word abbreviates.
std::string_view unabbreviated(std::string_view word, const std::vector<std::string>& candidates) {
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
  const auto found = std::ranges::find_if(candidates, begins);
  const bool is_one = word.size() >= 3 && std::ranges::count_if(candidates, begins) == 1;
  return is_one ? std::string_view(*found) : std::string_view();
}

std::string_view nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string_view best;
  size_t best_distance = word.size() + 1;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t allowed = std::max<size_t>(longer / 3, 1);
    // The difference of lengths bounds the distance from below: a 1 MiB word costs nothing.
    if (longer - std::min(word.size(), candidate.size()) > allowed) {
      continue;
    }
    const size_t distance = edit_distance(word, candidate);
    // Of two as near, letters are more often exchanged than mistaken: maks for mask, not maps.
    const bool nearer = distance < best_distance ||
                        (distance == best_distance && has_same_letters(word, candidate) &&
                         !has_same_letters(word, best));
    if (distance <= allowed && distance < longer && nearer) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? unabbreviated(word, candidates) : best;
}

}  // namespace

Position Source::position(size_t offset) const {
  offset = std::min(offset, content.size());
  const std::string_view before = std::string_view(content).substr(0, offset);
  size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  // Editors count no column for the mark.
  if (line_begin == 0 && content.starts_with(kByteOrderMark)) {
    line_begin = std::min(offset, kByteOrderMark.size());
  }
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(offset - line_begin)};
}

std::string_view Source::line(int line) const {
  std::string_view rest = content;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (int i = 1; i < line; ++i) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    rest.remove_prefix(end + 1);
  }
  return line < 1 ? std::string_view{} : rest.substr(0, rest.find_first_of(kLineEnds));
}

Diagnostics::Diagnostics(Source source, size_t limit) : source_(std::move(source)), limit_(limit) {}

void Diagnostics::add(Diagnostic diagnostic) {
  const bool is_error = diagnostic.severity == Severity::Error;
  errors_ += is_error ? 1 : 0;
  if (!is_error || errors_ <= limit_) {
    kept_.push_back(std::move(diagnostic));
  }
}

std::string Diagnostics::render(ErrorFormat format) const {
  std::vector<Diagnostic> sorted = kept_;
  if (has_errors()) {
    std::erase_if(sorted, [](const Diagnostic& d) { return d.severity == Severity::Warning; });
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.position.line, a.position.column) <
           std::pair(b.position.line, b.position.column);
  });
  std::string out;
  for (const Diagnostic& diagnostic : sorted) {
    out += format == ErrorFormat::Gcc ? render_gcc(source_, diagnostic)
                                      : render_json(source_, diagnostic);
  }
  if (errors_ > limit_) {
    Diagnostic rest;
    rest.message = fmt::format("{} more errors not shown", errors_ - limit_);
    out += format == ErrorFormat::Gcc ? render_gcc(source_, rest) : render_json(source_, rest);
  }
  return out;
}

std::string render_error(ErrorFormat format, std::string_view program, std::string_view message,
                         std::string_view help) {
  if (format == ErrorFormat::Json) {
    return json_line({{"severity", name_of(Severity::Error)},
                      {"message", with_codes(message)},
                      {"help", with_codes(help)}});
  }
  Diagnostic diagnostic;
  diagnostic.message = message;
  diagnostic.help = help;
  return render_gcc({std::string(program), {}}, diagnostic);
}

Diagnostic diagnostic_at(const Source& source, size_t begin, size_t end, std::string message,
                         std::string help) {
  Diagnostic diagnostic;
  diagnostic.position = source.position(begin);
  diagnostic.message = std::move(message);
  diagnostic.help = std::move(help);
  size_t line_end = std::min(source.content.find_first_of("\r\n", begin), source.content.size());
  line_end = std::min(line_end, end);
  diagnostic.length = line_end > begin ? static_cast<int>(line_end - begin) : 1;
  return diagnostic;
}

std::string listed(const std::vector<std::string>& items, std::string_view conjunction) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    out += (i == 0 ? "" : last ? fmt::format(" {} ", conjunction) : ", ") + items[i];
  }
  return out;
}

std::string shortened(std::string_view text, size_t length) {
  if (text.size() <= length) return std::string(text);
  return std::string(text.substr(0, character_begin(text, length))) + "...";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view lead) {
  std::vector<std::string> small;
  std::ranges::transform(candidates, std::back_inserter(small), lower);
  const std::string plain = lower(with_plain_characters(word));
  const std::string_view near = nearest(plain, small);
  if (near.empty()) return "";
  const auto at = std::ranges::find(small, near) - small.begin();
  return fmt::format("{}did you mean '{}'?", lead, candidates[static_cast<size_t>(at)]);
}

}  // namespace attngen::text
