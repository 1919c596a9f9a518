#include "spec/report.h"

#include <fmt/format.h>

#include "spec/alignment.h"
#include "text/characters.h"

namespace attngen::spec {
void Report::add(size_t begin, size_t end, std::string_view pointer, std::string message,
                 std::string help) {
  text::Diagnostic diagnostic;
  if (describes()) {
    diagnostic =
        diagnostic_at(diagnostics_.source(), begin, end, std::move(message), std::move(help));
    diagnostic.pointer = pointer;
  }
  diagnostics_.add(std::move(diagnostic));
}

void Report::at_value(const Node& node, std::string_view pointer, std::string message,
                      std::string help) {
  // A value that is left out ("heads:") has no bytes to underline.
  if (node.begin == node.end && node.key_end > node.key_begin) {
    return at_key(node, pointer, std::move(message), std::move(help));
  }
  // Of a collection without brackets only the first byte: its lines hold much that is right.
  const char first = node.begin < node.end ? diagnostics_.source().content[node.begin] : '\0';
  const bool block = (node.kind == Node::Kind::Map && first != '{') ||
                     (node.kind == Node::Kind::List && first != '[');
  add(node.begin, block ? node.begin + 1 : node.end, pointer, std::move(message), std::move(help));
}

void Report::at_key(const Node& node, std::string_view pointer, std::string message,
                    std::string help) {
  if (node.key_end == node.key_begin) {
    return at_value(node, pointer, std::move(message), std::move(help));
  }
  add(node.key_begin, node.key_end, pointer, std::move(message), std::move(help));
}

void Report::warn(const Node& node, std::string_view pointer, std::string message,
                  std::string help) {
  text::Diagnostic diagnostic = diagnostic_at(diagnostics_.source(), node.key_begin, node.key_end,
                                              std::move(message), std::move(help));
  diagnostic.severity = text::Severity::Warning;
  diagnostic.pointer = pointer;
  diagnostics_.add(std::move(diagnostic));
}

void Report::in_text(const Node& node, std::string_view pointer, const expr::Error& error,
                     text::Severity severity) {
  Locations here;
  here.put(std::string(pointer), node.begin, node.end);
  here.put_text(std::string(pointer),
                align(diagnostics_.source().content, node.begin, node.text).bytes);
  text::Diagnostic diagnostic =
      here.inside(diagnostics_.source(), pointer, error.span, error.message, error.help);
  diagnostic.severity = severity;
  diagnostics_.add(std::move(diagnostic));
}

void Report::remember(const Node& node, std::string_view pointer) {
  locations_.put(std::string(pointer), node.begin, node.end);
}

void Report::remember_text(const Node& node, std::string_view pointer) {
  locations_.put_text(std::string(pointer),
                      align(diagnostics_.source().content, node.begin, node.text).bytes);
}

std::string child(std::string_view pointer, std::string_view key) {
  std::string out(pointer);
  out += '/';
  for (char c : key) {  // RFC 6901
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string dotted(std::string_view pointer) {
  std::string out;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    if (!part.empty() && text::is_digit(part[0])) {
      out += fmt::format("[{}]", part);
    } else {
      out += (out.empty() ? "" : ".") + std::string(part);
    }
  }
  return out.empty() ? "a spec" : out;
}

}  // namespace attngen::spec
