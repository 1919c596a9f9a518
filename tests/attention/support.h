// Short ways to specs and printed forms.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "attention/row_form.h"
#include "expr/print.h"
#include "spec/read.h"

namespace attngen::attention::testing {

// A spec of 4 query and 2 key heads of 16 elements, whose lines end in its inputs.
inline std::string text_with_inputs(const std::string& inputs) {
  return "attngen: 1\n"
         "name: t\n"
         "dtype: bf16\n"
         "heads: {q: 4, kv: 2}\n"
         "head_dim: {qk: 16, v: 8}\n"
         "inputs:\n" +
         inputs;
}

// With some inputs, and `body` after it.
inline std::string spec_text(const std::string& body) {
  return text_with_inputs(
      "  sink: {dtype: f32, shape: [heads]}\n"
      "  prefix: {dtype: i32, shape: [batch]}\n"
      "  level: {dtype: u8, shape: [batch]}\n"
      "  doc_id: {dtype: i32, shape: [batch, seq_kv], sorted: true}\n"
      "  page: {dtype: i32, shape: [batch, seq_kv]}\n"
      "  span: {dtype: i32, shape: [batch, seq_kv], sorted: true}\n"
      "  chunk: {dtype: i32, shape: [batch, seq_kv]}\n"
      "  weight: {dtype: f32, shape: [batch, seq_kv]}\n"
      "  bias: {dtype: bf16, shape: [batch, heads, seq_q, seq_kv]}\n"
      "  pair: {dtype: i32, shape: [seq_q, seq_kv]}\n"
      "  keep: {dtype: u8, shape: [seq_q, seq_kv]}\n"
      "constants: {window: 5}\n" +
      body);
}

inline spec::Spec read_spec(const std::string& text) {
  text::Diagnostics diagnostics({"spec.yaml", text});
  auto spec = spec::read(diagnostics);
  REQUIRE_MESSAGE(spec.has_value(), diagnostics.render(text::ErrorFormat::Gcc));
  return *spec;
}
inline spec::Spec spec_of(const std::string& body) { return read_spec(spec_text(body)); }

inline expr::Expr mask_of(const std::string& mask) { return spec_of("mask: " + mask + "\n").mask; }

inline RowForm form_of(const std::string& normalize) {
  const spec::Spec spec = spec_of("normalize:\n" + normalize);
  const auto form = derive_row_form(spec.normalize);
  if (const auto* refusal = std::get_if<Refusal>(&form)) FAIL(refusal->error.message);
  return std::get<RowForm>(form);
}

// "max_score = max(score) * 1", "sum_exp = sum(exp(score - m)) * exp(old_m - m)"; in-loop
// reductions end in " !".
inline std::string print(const Reduction& r) {
  return r.name + (r.kind == Reduction::Kind::Max ? " = max(" : " = sum(") +
         expr::print(r.element) + ") * " + expr::print(r.rescale) + (r.deferred ? "" : " !");
}

// "m = max_score !": in-loop rows end in " !".
inline std::string print(const RowValue& row) {
  return row.name + " = " + expr::print(row.value) + (row.in_loop ? " !" : "");
}

}  // namespace attngen::attention::testing
