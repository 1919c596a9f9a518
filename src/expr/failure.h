// How the steps of parse() give up.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "expr/parse.h"

namespace attngen::expr {

// Thrown inside the room only; parse() catches it.
struct Failure {
  Error error;
};

[[noreturn]] inline void fail(Span span, std::string message, std::string help = {}) {
  throw Failure{{span, std::move(message), std::move(help)}};
}
[[noreturn]] inline void fail_too_deep(Span span, std::string help = {}) {
  fail(span, fmt::format("expression is nested deeper than {}", kMaxDepth), std::move(help));
}

}  // namespace attngen::expr
