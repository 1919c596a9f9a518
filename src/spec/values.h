// What the values of a checked tree say. A value that is not there leaves the default.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "spec/document.h"

namespace attngen::spec {

inline int64_t whole_of(const Node& node) {
  return static_cast<int64_t>(number_of(node).value_or(0));
}

template <typename Number>
void read_whole(const Node* node, Number& out) {
  if (node != nullptr) out = static_cast<Number>(whole_of(*node));
}

inline void read_bool(const Node* node, bool& out) {
  if (node != nullptr) out = bool_of(*node).value_or(false);
}

// The value among `all` that a spec writes as the node's text.
template <typename Enum>
void read_word(const Node* node, std::initializer_list<Enum> all, Enum& out) {
  if (node == nullptr) return;
  for (Enum value : all) {
    if (node->text == name_of(value)) out = value;
  }
}

}  // namespace attngen::spec
