// Kernels that several tests share.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "attention/row_form.h"
#include "expr/parse.h"
#include "schedule/search.h"
#include "spec/read.h"
#include "target/target.h"

namespace attngen::schedule {

inline const target::Target& h100() { return *target::find("h100"); }
inline const target::Target& h200() { return *target::find("h200"); }

inline expr::Expr parse_mask(std::string_view text) {
  expr::Scope scope;
  for (const char* name : {"b", "h", "h_kv", "q_idx", "kv_idx", "q_pos", "seq_q", "seq_kv"}) {
    scope.variables[name] = expr::Type::Int;
  }
  return std::get<expr::Expr>(expr::parse(text, scope));
}

// With these lines behind those that all have.
inline spec::Spec spec_of_lines(const std::string& lines) {
  text::Diagnostics diagnostics({"spec.yaml", "attngen: 1\nname: test\ndtype: bf16\n" + lines});
  const std::optional<spec::Spec> spec = spec::read(diagnostics);
  INFO(diagnostics.render(text::ErrorFormat::Gcc));
  REQUIRE(spec);
  return *spec;
}

inline Kernel kernel_of_spec(const spec::Spec& spec,
                             target::Family family = target::Family::Hopper) {
  const auto rows = attention::derive_row_form(spec.normalize);
  return describe_kernel(spec, std::get<attention::RowForm>(rows), family);
}

inline Kernel kernel_of_lines(const std::string& lines,
                              target::Family family = target::Family::Hopper) {
  return kernel_of_spec(spec_of_lines(lines), family);
}

inline std::string head_dims(int qk, int v) {
  return "head_dim: {qk: " + std::to_string(qk) + ", v: " + std::to_string(v) + "}\n";
}

// Of a spec of head dim 128, or another, with these lines.
inline Kernel read_kernel(const std::string& lines, target::Family family = target::Family::Hopper,
                          int head_dim = 128) {
  return kernel_of_lines(head_dims(head_dim, head_dim) + lines, family);
}

// Softmax attention of `heads` query and key heads, one workload point.
inline Kernel softmax_kernel(int head_dim_qk, int head_dim_v, int heads, int64_t batch, int64_t seq,
                             std::string_view mask, bool fixed_max) {
  Kernel kernel;
  kernel.head_dim_qk = head_dim_qk;
  kernel.head_dim_v = head_dim_v;
  kernel.heads_q = kernel.heads_kv = heads;
  kernel.range = attention::key_range(parse_mask(mask), {});
  kernel.rows.exponential = true;
  kernel.rows.rescale = expr::variable("factor", expr::Type::Float);
  kernel.fixed_max = fixed_max;
  kernel.mask.logic = kernel.range.always_full ? 1 : 3;
  kernel.workload = {{batch, seq, seq, 1}};
  return kernel;
}

// The benchmark shape of the public tables: 16384 tokens, heads x head_dim = 2048.
inline Kernel benchmark_kernel(int head_dim_qk, int head_dim_v, int64_t seq, bool causal,
                               bool fixed_max) {
  return softmax_kernel(head_dim_qk, head_dim_v, 2048 / head_dim_qk, 16384 / seq, seq,
                        causal ? "kv_idx <= q_pos" : "true", fixed_max);
}

}  // namespace attngen::schedule
