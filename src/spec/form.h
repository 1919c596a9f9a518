// The form of a spec as data: every key once, with its type, default and help. The reader checks
// against it, suggests from it, and the JSON Schema is printed from it.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.h"

namespace attngen::spec {

struct Key;

struct Type {
  enum class Kind : uint8_t {
    Whole,       // a number without a fraction
    Number,      // finite
    Bool,        // true, false
    False,       // false alone: not used
    Word,        // one of `words`
    Name,        // a C identifier
    Line,        // text without a line end
    Expression,  // text, or a bare number or bool
    List,        // of parts[0]
    Object,      // a map with `keys`
    Dictionary,  // a map from names of the user's choice to parts[0]
    Either,      // one of `parts`
  };
  Kind kind = Kind::Line;
  // Of a Whole or Number; of a List or Dictionary the number of elements.
  double minimum = -std::numeric_limits<double>::max();
  double maximum = std::numeric_limits<double>::max();
  double least = 0;     // of a Number that is not 0, its size
  int multiple = 1;     // of a Whole
  bool unique = false;  // of a List
  std::vector<std::string> words;
  std::vector<Key> keys;
  std::vector<Type> parts;
  std::optional<Pattern> only;  // of an Either: a part of this pattern alone
};

struct Key {
  std::string name;
  Type type;
  std::string help;
  nlohmann::json fallback;  // the default; null if there is none to write down
  bool required = false;
  std::optional<Pattern> only;  // of this pattern alone
};

inline constexpr size_t kMaxName = 64;

// Of the whole text. `heads` stands twice: its keys differ between the patterns.
Type spec_type();

// What a value of the type is, for messages: "a whole number", "'softmax', 'none' or a map".
std::string describe(const Type& type);

}  // namespace attngen::spec
