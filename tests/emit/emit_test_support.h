// What the tests of this room share: specs from text, compilers run on emitted text.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "attention/row_form.h"
#include "emit/api.h"
#include "spec/read.h"
#include "spec/spec.h"

namespace attngen::emit {

// A spec around the given lines.
inline std::string spec_text(const std::string& lines) {
  return "attngen: 1\nname: test\npattern: parallel\ndtype: bf16\nheads: {q: 32, kv: 8}\n"
         "head_dim: {qk: 128, v: 128}\n" +
         lines;
}

inline spec::Spec spec_of_text(const std::string& text) {
  text::Diagnostics diagnostics({"spec.yaml", text});
  const std::optional<spec::Spec> spec = spec::read(diagnostics);
  INFO(diagnostics.render(text::ErrorFormat::Gcc));
  REQUIRE(spec);
  return *spec;
}
inline spec::Spec spec_of(const std::string& lines) { return spec_of_text(spec_text(lines)); }

inline attention::RowForm form_of(const spec::Spec& spec) {
  const auto form = attention::derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<attention::RowForm>(form));
  return std::get<attention::RowForm>(form);
}

// Whether the shell finds a program; says so if it does not.
bool has_program(const std::string& name);

// Whether kernels are compiled here.
bool has_nvcc();

// Runs `command` with {} replaced by a file of that text and suffix; returns what it prints, "" if
// it succeeds silently, and always something if it fails.
std::string compile(const std::string& command, const std::string& suffix, const std::string& text);

}  // namespace attngen::emit
