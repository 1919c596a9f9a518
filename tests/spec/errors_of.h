// What the reader says about a text, warnings too, for tests that compare it to the letter.
#pragma once

#include <string>

#include "spec/read.h"

namespace attngen::spec {

inline std::string errors_of(const std::string& content, const std::string& name = "s.yaml") {
  text::Diagnostics diagnostics({name, content});
  const bool is_read = read(diagnostics).has_value();
  const std::string shown = diagnostics.render(text::ErrorFormat::Gcc);
  return is_read != diagnostics.has_errors() ? shown : "a spec and errors, or neither: " + shown;
}

// Errors of a spec that is right but for what is appended on line 6.
inline std::string errors_with(const std::string& lines) {
  return errors_of(
      "attngen: 1\n"
      "name: example\n"
      "dtype: bf16\n"
      "heads: {q: 8, kv: 2}\n"
      "head_dim: {qk: 128, v: 64}\n" +
      lines);
}

inline std::string errors_with_recurrent(const std::string& lines) {
  return errors_of(
      "attngen: 1\n"
      "name: example\n"
      "dtype: bf16\n"
      "pattern: recurrent\n"
      "heads: {q: 1, k: 1, v: 8}\n"
      "head_dim: {qk: 128, v: 64}\n" +
      lines);
}

}  // namespace attngen::spec
