#include "spec/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/tree_builder.h"

namespace attngen::spec {
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
bool check_bytes(text::Diagnostics& diagnostics) {
  const text::Source& source = diagnostics.source();
  const std::string_view bytes = source.content;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_sequence(bytes, at);
    if (length == 0) {
      diagnostics.add(diagnostic_at(
          source, at, at + 1,
          fmt::format("invalid UTF-8: byte 0x{:02x}", static_cast<unsigned char>(bytes[at]))));
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

bool is_json(const text::Source& source, size_t start) {
  const std::string_view name = source.name;
  if (name.ends_with(".json")) return true;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return false;
  const size_t first = source.content.find_first_not_of(" \t\r\n", start);
  return first != std::string::npos && source.content[first] == '{';
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const Node& child : children) {
    if (child.key == name) return child.valid ? &child : nullptr;
  }
  return nullptr;
}

text::Diagnostic diagnostic_at(const text::Source& source, size_t begin, size_t end,
                               std::string message, std::string help) {
  text::Diagnostic diagnostic;
  diagnostic.position = source.position(begin);
  diagnostic.message = std::move(message);
  diagnostic.help = std::move(help);
  size_t line_end = std::min(source.content.find_first_of("\r\n", begin), source.content.size());
  line_end = std::min(line_end, end);
  diagnostic.length = line_end > begin ? static_cast<int>(line_end - begin) : 1;
  return diagnostic;
}

std::string shortened(std::string_view text, size_t length) {
  if (text.size() <= length) return std::string(text);
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  return std::string(text.substr(0, length)) + "...";
}

std::optional<Node> read_document(text::Diagnostics& diagnostics) {
  const text::Source& source = diagnostics.source();
  if (source.content.size() > kMaxBytes) {
    text::Diagnostic diagnostic;
    diagnostic.message = fmt::format("the text has {} bytes; a spec has at most {}",
                                     source.content.size(), kMaxBytes);
    diagnostics.add(std::move(diagnostic));
    return std::nullopt;
  }
  if (!check_bytes(diagnostics)) return std::nullopt;
  const size_t start = source.content.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  return is_json(source, start) ? read_json(diagnostics, start) : read_yaml(diagnostics, start);
}

bool TreeBuilder::open(Node::Kind kind, size_t begin) {
  if (open_.size() >= kMaxDepth) {
    diagnostics_.add(diagnostic_at(diagnostics_.source(), begin, begin + 1,
                                   fmt::format("nested more than {} deep", kMaxDepth)));
    return false;
  }
  Open open;
  open.node.kind = kind;
  open.node.begin = begin;
  open_.push_back(std::move(open));
  last_end_ = begin + 1;
  return true;
}

void TreeBuilder::close(size_t end) {
  Node node = std::move(open_.back().node);
  open_.pop_back();
  node.end = end;
  value(std::move(node));
}

void TreeBuilder::key(std::string name, size_t begin, size_t end) {
  Open& map = open_.back();
  const auto [first, is_new] = map.seen.emplace(name, begin);
  if (!is_new) report_duplicate(name, begin, end, first->second);
  map.has_key = true;
  map.next = Node{};
  map.next.valid = is_new;
  map.next.key = std::move(name);
  map.next.key_begin = begin;
  map.next.key_end = end;
  last_end_ = end;
}

void TreeBuilder::report_duplicate(std::string_view name, size_t begin, size_t end, size_t first) {
  text::Diagnostic diagnostic;
  // Finding a line costs time in proportion to the text: errors past this many are only counted.
  if (++duplicates_ <= 100) {
    const text::Source& source = diagnostics_.source();
    diagnostic =
        diagnostic_at(source, begin, end, fmt::format("duplicate key '{}'", shortened(name, 64)),
                      fmt::format("first given on line {}", source.position(first).line));
  }
  diagnostics_.add(std::move(diagnostic));
}

void TreeBuilder::value(Node node) {
  last_end_ = node.end;
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  if (parent.node.kind == Node::Kind::Map) {
    parent.has_key = false;
    if (!parent.next.valid) return;  // a duplicate
    node.key = std::move(parent.next.key);
    node.key_begin = parent.next.key_begin;
    node.key_end = parent.next.key_end;
  }
  parent.node.children.push_back(std::move(node));
}

bool TreeBuilder::wants_key() const {
  return !open_.empty() && open_.back().node.kind == Node::Kind::Map && !open_.back().has_key;
}

}  // namespace attngen::spec
