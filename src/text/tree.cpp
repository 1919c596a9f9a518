#include "text/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/characters.h"
#include "text/diagnostics.h"

namespace attngen::text {
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
    while (at < text.size() && is_digit(text[at])) ++at;
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

// The exponent of a spelled number, without bounds: "1e-99999999999".
double exponent_of(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos) return 0;
  double exponent = 0;
  for (char c : text.substr(e + 1)) {
    if (is_digit(c)) exponent = 10 * exponent + (c - '0');
  }
  return text[e + 1] == '-' ? -exponent : exponent;
}

// Of a spelled number that no double holds: whether it is too large, not too small. Its first digit
// that is not 0 tells, by how far before the point it would stand without an exponent.
bool is_too_large(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  const auto point = static_cast<double>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<double>(digits.find_first_of("123456789"));
  return point - first + exponent_of(text) > 0;
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const Node& child : children) {
    if (child.key == name) return child.valid ? &child : nullptr;
  }
  return nullptr;
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
    return is_too_large(node.text) ? HUGE_VAL : 0.0;
  }
  return value;
}

std::optional<bool> bool_of(const Node& node) {
  if (node.kind != Node::Kind::Scalar || node.quoted) return {};
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return {};
}

}  // namespace attngen::text
