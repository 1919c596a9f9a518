// YAML by yaml-cpp's event interface: one document of plain maps, lists and scalars. Anchors,
// aliases and tags are refused, so no text grows while it is read.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "spec/alignment.h"
#include "spec/document.h"
#include "spec/hints.h"
#include "text/characters.h"
#include "text/tree_builder.h"

namespace attngen::spec {
namespace {

// Ends the parse; the error has been reported.
struct Stop {};

// What yaml-cpp says, in terms of what a user wrote.
struct Wording {
  std::string_view theirs;
  const char* message;
  const char* help;
};
constexpr std::string_view kIllegalValue = "illegal map value";
constexpr Wording kWordings[] = {
    {kIllegalValue, "unexpected ':'", "put quotes around a text that contains ': '"},
    {"illegal map key", "unexpected key", "one key stands on each line, or use {...}"},
    {"illegal block entry", "unexpected '-'", "an element of a list stands on a line of its own"},
    {"end of map not found", "a key or value that is indented unlike the lines above", ""},
    {"end of sequence not found", "an element that is indented unlike the lines above", ""},
    {"end of map flow not found", "expected ',' or '}'", "is a bracket above not closed?"},
    {"end of sequence flow not found", "expected ',' or ']'", "is a bracket above not closed?"},
    {"illegal flow end", "a closing bracket without an opening one", ""},
    {"unknown token", "unexpected character", "put quotes around the text"},
    {"the referenced anchor is not defined", "aliases are not supported in a spec",
     "write the value again"},
};

class YamlEvents final : public YAML::EventHandler {
 public:
  YamlEvents(text::Diagnostics& diagnostics, size_t start)
      : diagnostics_(diagnostics),
        text_(diagnostics.source().content),
        start_(start),
        tree_(diagnostics) {}

  std::optional<Node> take_root() { return tree_.take_root(); }

  size_t byte_of(const YAML::Mark& mark) const {
    const size_t offset = mark.is_null() ? 0 : static_cast<size_t>(mark.pos);
    return std::min(start_ + offset, text_.size());
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_document_) refuse(byte_of(mark), "a spec is one document", "");
    has_document_ = true;
  }
  void OnDocumentEnd() override {}

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(byte_of(mark), "aliases are not supported in a spec", "write the value again");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    refuse(byte_of(mark), "anchors are not supported in a spec", "write the value again");
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    Node node;
    node.begin = byte_of(mark);
    const std::string_view rest = text_.substr(node.begin);
    node.end = node.begin + (rest.starts_with('~') ? 1 : is_null_word(rest) ? 4 : 0);
    // A value that is left out has the mark of what follows; it belongs to its key.
    if (node.end == node.begin) node.begin = node.end = tree_.last_end();
    if (tree_.wants_key()) refuse(node.begin, "a key must be a name", "");
    tree_.value(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::Scalar;
    node.begin = byte_of(mark);
    refuse_tag(node.begin, tag);
    const char style = node.begin < text_.size() ? text_[node.begin] : '\0';
    node.quoted = style == '"' || style == '\'' || style == '|' || style == '>';
    node.text = value;
    node.end = align(text_, node.begin, value).end;
    const bool in_quotes = style == '"' || style == '\'';
    if (in_quotes && (node.end < node.begin + 2 || text_[node.end - 1] != style)) {
      refuse(node.begin, "this quote is not closed", "");
    }
    if (tree_.wants_key()) {
      tree_.key(std::move(node.text), node.begin, node.end);
    } else {
      if (!node.quoted) refuse_cut(node);
      tree_.value(std::move(node));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::List, mark, tag);
  }
  void OnSequenceEnd() override { close('[', ']'); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::Map, mark, tag);
  }
  void OnMapEnd() override { close('{', '}'); }

  void report(const YAML::Exception& error) {
    const size_t at = byte_of(error.mark);
    const size_t line_begin = line_begin_of(at);
    const size_t indent_end = std::min(text_.find_first_not_of(" \t", line_begin), text_.size());
    const size_t tab = text_.substr(0, indent_end).find('\t', line_begin);
    if (tab != std::string_view::npos) {
      return report(tab, "a tab cannot indent", "use spaces");
    }
    if (error.msg == kIllegalValue && report_choice(indent_end, at)) return;
    if (error.msg == kIllegalValue && report_colon(line_begin, at)) return;
    const size_t tag = text_.substr(0, at).find(": !", line_begin);
    if (tag != std::string_view::npos) return report_tag(tag + 2);
    for (const Wording& wording : kWordings) {
      if (error.msg == wording.theirs) return report(at, wording.message, wording.help);
    }
    report(at, text::shortened(error.msg, 200), "");
  }

  void report(size_t at, std::string message, std::string help) {
    diagnostics_.add(
        diagnostic_at(diagnostics_.source(), at, at + 1, std::move(message), std::move(help)));
  }

 private:
  // Of the first line behind a byte order mark.
  size_t line_begin_of(size_t at) const {
    return std::max(text_.substr(0, at).rfind('\n') + 1, start_);  // npos + 1 is 0
  }

  // Of c ? a : b, whose colon has to be what YAML stumbles over. A '?' may also begin a key.
  bool report_choice(size_t begin, size_t at) {
    const size_t mark = text_.substr(0, at).find('?', begin + 1);
    if (mark == std::string_view::npos) return false;
    report(mark, "unexpected '?'", "write 'a if condition else b'");
    return true;
  }

  // Of a line without a colon YAML makes one text with the next line's key, and refuses the colon
  // that follows; or that in its own braces: heads {q: 8, kv: 2}.
  bool report_colon(size_t line_begin, size_t at) {
    const size_t above_end = text_.substr(0, line_begin).find_last_not_of(" \t\r\n") + 1;
    const size_t above = line_begin_of(above_end);
    const size_t line_end = std::min(text_.find_first_of("\r\n", at), text_.size());
    return report_colon_of(line_begin, line_end) || report_colon_of(above, above_end);
  }

  bool report_colon_of(size_t line_begin, size_t end) {
    const size_t begin = std::min(text_.find_first_not_of(" \t", line_begin), end);
    std::string help = hint_on_colon(text_.substr(begin, end - begin));
    if (help.empty()) return false;
    diagnostics_.add(diagnostic_at(diagnostics_.source(), begin, end,
                                   "no ': ' between a key and its value", std::move(help)));
    return true;
  }

  [[noreturn]] void refuse(size_t at, std::string message, std::string help) {
    report(at, std::move(message), std::move(help));
    throw Stop{};
  }

  // In { } and [ ] a comma or bracket ends a text without quotes, also within max(a, b) and x[h].
  void refuse_cut(const Node& node) {
    const size_t next = text_.find_first_not_of(" \t\r\n", node.end);
    const char ending = next < text_.size() ? text_[next] : '\0';
    const auto count = [&](char c) { return std::count(node.text.begin(), node.text.end(), c); };
    if (ending == '[' ? next > node.end : ending != ',' || count('(') <= count(')')) return;
    diagnostics_.add(
        diagnostic_at(diagnostics_.source(), node.begin, next + 1,
                      fmt::format("in {{ }} and [ ] a text without quotes ends at '{}'", ending),
                      "put quotes around the expression"));
    throw Stop{};
  }

  void refuse_tag(size_t at, const std::string& tag) {
    // yaml-cpp's own "?" stands for a plain scalar or collection and "!" for a quoted scalar.
    const bool explicit_tag = at < text_.size() && text_[at] == '!';
    if (explicit_tag || (!tag.empty() && tag != "?" && tag != "!")) {
      report_tag(at);
      throw Stop{};
    }
  }

  // A '!' may be meant to negate: mask: !(kv_idx > q_pos).
  void report_tag(size_t at) {
    const bool double_mark = text_.substr(at, 2) == "!!";
    report(at, "tags are not supported in a spec", double_mark ? "" : "to negate, write 'not'");
  }

  // Not so the beginning of a key on the next line: nullable.
  static bool is_null_word(std::string_view text) {
    const bool begins =
        text.starts_with("null") || text.starts_with("Null") || text.starts_with("NULL");
    return begins && (text.size() == 4 || !text::is_word(text[4]));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    const size_t begin = byte_of(mark);
    refuse_tag(begin, tag);
    // yaml-cpp takes a bracket that is never closed for a key.
    if (tree_.wants_key()) refuse(begin, "a key must be a name", "is this bracket closed?");
    if (!tree_.open(kind, begin)) throw Stop{};
  }

  // The closing bracket of a flow collection stands behind blanks, commas and comments.
  void close(char opening, char closing) {
    size_t end = tree_.last_end();
    if (text_.substr(tree_.open_begin(), 1) == std::string_view(&opening, 1)) {
      size_t at = end;
      while (at < text_.size() && text_[at] != closing) {
        at = text_[at] == '#' ? std::min(text_.find('\n', at), text_.size()) : at + 1;
      }
      end = std::min(at + 1, text_.size());
    }
    tree_.close(end);
  }

  text::Diagnostics& diagnostics_;
  std::string_view text_;
  size_t start_;
  text::TreeBuilder tree_;
  bool has_document_ = false;
};

}  // namespace

std::optional<Node> read_yaml(text::Diagnostics& diagnostics, size_t start) {
  YamlEvents events(diagnostics, start);
  std::istringstream stream(diagnostics.source().content.substr(start));
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    events.report(error);
    return std::nullopt;
  }
  std::optional<Node> root = events.take_root();
  if (!root) report_empty(diagnostics);  // of comments alone
  return root;
}

}  // namespace attngen::spec
