// A JSON or YAML text as a tree that knows where everything stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attngen::text {

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

// A value as messages quote it: 'eight', 8, a map; long texts are cut.
std::string got(const Node& node);

// The value of a scalar that spells a number as JSON does; nothing for strings and other words.
std::optional<double> number_of(const Node& node);
// true or false.
std::optional<bool> bool_of(const Node& node);

}  // namespace attngen::text
