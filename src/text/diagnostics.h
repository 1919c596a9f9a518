// Errors about a text that a user wrote: where, what, and what would have been right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attngen::text {

// A place in a text: 1-based line and column, the column in bytes of that line, of the first those
// behind a byte order mark.
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

// A named text, as read. `name` is what errors print: the path as given, or "<stdin>".
struct Source {
  std::string name;
  std::string content;

  // The position of byte `offset`; offsets past the end give the position after the last byte.
  Position position(size_t offset) const;
  // Line `line` (1-based) without its line end or a byte order mark; empty beyond the text.
  std::string_view line(int line) const;
};

enum class Severity : uint8_t { Error, Warning };

struct Diagnostic {
  Severity severity = Severity::Error;
  Position position;    // line 0: the whole file
  int length = 1;       // bytes that the caret underlines, on the one line
  std::string message;  // no trailing period: "unknown key 'heds'"
  std::string help;     // what would be right: "did you mean 'heads'?"; may be empty
  std::string pointer;  // JSON pointer of the value, "/heads/q"; may be empty
};

enum class ErrorFormat : uint8_t { Gcc, Json };

// Collects the diagnostics of one text. At most `limit` errors are kept; the rest are counted.
class Diagnostics {
 public:
  explicit Diagnostics(Source source, size_t limit = 20);

  void add(Diagnostic diagnostic);
  bool has_errors() const { return errors_ > 0; }
  // Whether one more error would be kept. Describing an error costs time in proportion to the text,
  // so those that are only counted are added without a place, a message or help.
  bool keeps_errors() const { return errors_ < limit_; }
  const std::vector<Diagnostic>& all() const { return kept_; }
  const Source& source() const { return source_; }

  // In the order of their positions; warnings only if there is no error, of which they may come.
  // Gcc:
  //   spec.yaml:12:9: error: unknown key 'heds'
  //      12 | heds: {q: 8, kv: 8}
  //         | ^~~~
  //   help: did you mean 'heads'?
  // Json: one object a line: file, line, column, severity, message, help, pointer.
  std::string render(ErrorFormat format) const;

 private:
  Source source_;
  size_t limit_;
  size_t errors_ = 0;
  std::vector<Diagnostic> kept_;
};

// An error about no text in particular: "attngen: error: ..." of that program, or an object of
// severity, message and help.
std::string render_error(ErrorFormat format, std::string_view program, std::string_view message,
                         std::string_view help);

// A diagnostic at source bytes [begin, end), cut at the end of the line.
Diagnostic diagnostic_at(const Source& source, size_t begin, size_t end, std::string message,
                         std::string help = {});

// "a", "a or b", "a, b or c".
std::string listed(const std::vector<std::string>& items, std::string_view conjunction = "or");

// At most `length` bytes of a text, cut between characters and then marked by "...".
std::string shortened(std::string_view text, size_t length);

// "did you mean 'heads'?" of the candidate nearest to `word` by edit distance, whatever the case,
// after `lead`; "" when none is near enough to be meant (distance above a third of the longer
// word's length, at least 1, or no letter in common), and the word abbreviates no candidate or
// several.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view lead = {});

}  // namespace attngen::text
