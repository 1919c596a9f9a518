// A JSON text as a tree with places.
#pragma once

#include <cstddef>
#include <optional>

#include "text/diagnostics.h"
#include "text/tree.h"

namespace attngen::text {

// The root of the text from byte `start` on, which check_bytes gave; nothing, with an error, if it
// is no JSON. Duplicate keys are errors, and the first of them stands in the tree.
std::optional<Node> read_json(Diagnostics& diagnostics, size_t start);

}  // namespace attngen::text
