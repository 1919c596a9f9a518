// Spec text, JSON or YAML, to a checked Spec.
#pragma once

#include <optional>

#include "spec/spec.h"
#include "text/diagnostics.h"

namespace attngen::spec {

// Reports all errors of the text at once; returns a Spec only if there are none. Any bytes are
// safe: no exception, crash, hang or unbounded memory (texts above 1 MiB are refused). Fields whose
// kernels do not exist yet are read and checked here; `emit` refuses them by name.
std::optional<Spec> read(text::Diagnostics& diagnostics);

}  // namespace attngen::spec
