// A spec's text, YAML or JSON, as a tree.
#pragma once

#include <cstddef>
#include <optional>

#include "text/diagnostics.h"
#include "text/tree.h"

namespace attngen::spec {

using text::Node;

// The root of the text's only document; nothing, with an error, if it is no YAML or JSON. Texts
// named *.json are JSON, and so are those that start with '{' unless named *.yaml or *.yml.
// Duplicate keys are errors, and the first of them stands in the tree.
std::optional<Node> read_document(text::Diagnostics& diagnostics);

// Reports that the text holds nothing.
void report_empty(text::Diagnostics& diagnostics);

// `start` is the byte after a byte order mark.
std::optional<Node> read_yaml(text::Diagnostics& diagnostics, size_t start);

}  // namespace attngen::spec
