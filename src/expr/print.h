// Expressions as text: as C for the emitted kernels, in the language itself for messages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "expr/expr.h"

namespace attngen::expr {

// In the language itself, with the fewest parentheses: "exp(score - m)".
std::string print(const Expr& e);

enum class Dialect : uint8_t {
  HostC,   // C99 and <math.h>, double arithmetic; for tests
  Device,  // CUDA and HIP, float arithmetic: exp is exp2f by a folded factor, see print.cpp
};

// How the surrounding code names things. Empty functions: names as they are, input[index] for a
// Load.
struct Names {
  std::function<std::string(std::string_view)> variable;
  // The C expression of an input's element, given the printed indices.
  std::function<std::string(std::string_view input, std::span<const std::string> indices)> load;
};

// A C expression of the same value with the fewest parentheses. Shared subtrees are printed where
// they occur; `print_c_statements` names them instead.
std::string print_c(const Expr& e, Dialect dialect, const Names& names = {});

// Statements `const float t0 = ...;` (each line indented by `indent` spaces) for every shared
// subtree that is not a leaf, then the C expression of the whole in `value`.
struct Statements {
  std::string text;
  std::string value;
};
Statements print_c_statements(const Expr& e, Dialect dialect, const Names& names, int indent);

// The device functions that the printed code calls beyond the vendor's own: "attn_exp2",
// "attn_tanh", "floor_divide", ... The emitter writes the ones needed, from `device_function`.
std::vector<std::string> device_functions_of(const Expr& e);
// The definition of one, as CUDA/HIP source: a `__device__ __forceinline__` function.
std::string device_function(std::string_view name);

}  // namespace attngen::expr
