#include "spec/report.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "spec/alignment.h"
#include "text/characters.h"

namespace attngen::spec {
namespace {

constexpr size_t kMostQuoted = 40;

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?   (RFC 8259)
bool spells_number(std::string_view text) {
  size_t at = 0;
  const auto accept = [&](std::string_view set) {
    const bool found = at < text.size() && set.find(text[at]) != std::string_view::npos;
    at += found ? 1 : 0;
    return found;
  };
  const auto digits = [&] {
    const size_t first = at;
    while (at < text.size() && text::is_digit(text[at])) ++at;
    return at > first;
  };
  accept("-");
  if (!accept("0") && !digits()) return false;
  if (accept(".") && !digits()) return false;
  if (accept("eE")) {
    accept("+-");
    if (!digits()) return false;
  }
  return at == text.size();
}

}  // namespace

void Report::add(size_t begin, size_t end, std::string_view pointer, std::string message,
                 std::string help) {
  text::Diagnostic diagnostic;
  if (described_++ < kMostDescribed) {
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

void Report::warn(const Node& node, std::string_view pointer, std::string message) {
  text::Diagnostic diagnostic =
      diagnostic_at(diagnostics_.source(), node.key_begin, node.key_end, std::move(message));
  diagnostic.severity = text::Severity::Warning;
  diagnostic.pointer = pointer;
  diagnostics_.add(std::move(diagnostic));
}

void Report::in_text(const Node& node, std::string_view pointer, const expr::Error& error) {
  Locations here;
  here.put(std::string(pointer), node.begin, node.end);
  here.put_text(std::string(pointer),
                align(diagnostics_.source().content, node.begin, node.text).bytes);
  diagnostics_.add(
      here.inside(diagnostics_.source(), pointer, error.span, error.message, error.help));
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

std::string got(const Node& node) {
  switch (node.kind) {
    case Node::Kind::Null:
      return "nothing";
    case Node::Kind::List:
      return "a list";
    case Node::Kind::Map:
      return "a map";
    case Node::Kind::Scalar:
      break;
  }
  if (!node.quoted && (spells_number(node.text) || bool_of(node)) &&
      node.text.size() <= kMostQuoted) {
    return node.text;
  }
  return fmt::format("{}'{}'", spells_number(node.text) ? "the text " : "",
                     shortened(node.text, kMostQuoted));
}

std::optional<double> number_of(const Node& node) {
  if (node.kind != Node::Kind::Scalar || node.quoted || !spells_number(node.text)) return {};
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto result = std::from_chars(node.text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too large, or so small that it is zero: the exponent's sign tells.
    const size_t exponent = node.text.find_first_of("eE");
    const bool tiny = exponent != std::string::npos && node.text[exponent + 1] == '-';
    return tiny ? 0.0 : HUGE_VAL;
  }
  return value;
}

std::optional<bool> bool_of(const Node& node) {
  if (node.kind != Node::Kind::Scalar || node.quoted) return {};
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return {};
}

}  // namespace attngen::spec
