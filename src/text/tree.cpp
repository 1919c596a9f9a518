#include "text/tree.h"

#include <fmt/format.h>

#include "text/characters.h"
#include "text/diagnostics.h"
#include "text/number.h"

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
  const bool looks_bare = spells_number(node.text) || node.text == "true" || node.text == "false";
  if (!node.quoted && looks_bare && node.text.size() <= kMostQuoted) return node.text;
  return fmt::format("{}'{}'", looks_bare ? "the text " : "", shortened(node.text, kMostQuoted));
}

std::optional<double> number_of(const Node& node) {
  if (node.kind != Node::Kind::Scalar || node.quoted || !spells_number(node.text)) return {};
  return nearest_double(node.text);
}

std::optional<bool> bool_of(const Node& node) {
  if (node.kind != Node::Kind::Scalar || node.quoted) return {};
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return {};
}

}  // namespace attngen::text
