// A YAML or JSON text as a tree that knows where everything stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostics.h"

namespace attngen::spec {

inline constexpr size_t kMaxBytes = size_t{1} << 20;
inline constexpr size_t kMaxDepth = 64;

struct Node {
  enum class Kind : uint8_t { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  bool quoted = false;        // a Scalar that is a string even if it looks like a number
  bool valid = true;          // cleared by check() where the value has the wrong form
  std::string text;           // of a Scalar
  size_t begin = 0, end = 0;  // source bytes of the value
  std::string key;            // of an entry of a Map
  size_t key_begin = 0, key_end = 0;
  std::vector<Node> children;  // of a List or Map, in the order of the text

  // The valid entry of a Map; nullptr if there is none.
  const Node* find(std::string_view name) const;
};

// The root of the text's only document; nothing, with an error, if it is no YAML or JSON. Texts
// named *.json are JSON, and so are those that start with '{' unless named *.yaml or *.yml.
// Duplicate keys are errors, and the first of them stands in the tree.
std::optional<Node> read_document(text::Diagnostics& diagnostics);

// A diagnostic at source bytes [begin, end), cut at the end of the line.
text::Diagnostic diagnostic_at(const text::Source& source, size_t begin, size_t end,
                               std::string message, std::string help = {});

// At most `length` bytes of a text, cut between characters and then marked by "...".
std::string shortened(std::string_view text, size_t length);

// The two syntaxes; `start` is the byte after a byte order mark.
std::optional<Node> read_yaml(text::Diagnostics& diagnostics, size_t start);
std::optional<Node> read_json(text::Diagnostics& diagnostics, size_t start);

}  // namespace attngen::spec
