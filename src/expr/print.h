// Expressions as text: as C for the emitted kernels, in the language itself for messages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/accuracy.h"
#include "expr/expr.h"
#include "expr/rounded_apart.h"

namespace attngen::expr {

// In the language itself, with the fewest parentheses: "exp(score - m)".
std::string print(const Expr& e);

// The same of a short one; of another what comes first, and "..." for the rest. For comments:
// shared subtrees are written out, so that the text of all may be exponentially long.
std::string print_brief(const Expr& e);

enum class Dialect : uint8_t {
  HostC,   // C99 and <math.h>, double arithmetic; for tests
  Device,  // CUDA and HIP, float arithmetic: exp is exp2_approx (c_printer_functions.cpp)
};

// How the surrounding code names things, and what it needs of them. Empty functions: names as they
// are, input[index] for a Load, all variables exact, all logarithms and roots too.
struct Names {
  std::function<std::string(std::string_view)> variable;
  // The C expression of an input's element, given the printed indices.
  std::function<std::string(const Expr& load, std::span<const std::string> indices)> load;
  // & and | for `and` and `or`, which need no branch: operands are evaluated whatever the first is.
  bool eager = false;
  // Floats round after each operation, without multiply-adds and approximate quotients, so that
  // what tells of a block of pairs rounds as each of them does.
  bool exact = false;
  Inexact inexact = {};
  // Whether a logarithm, or a root, is the device's quick one: off by 2^-22 where it is near 0, or
  // by 1 ulp.
  std::function<bool(const Expr&)> quick = {};
  // The C expression of a variable's quotient or remainder by a positive whole number, if it has
  // one of its own; else "".
  std::function<std::string(std::string_view variable, Op op, int by)> divided = {};
};

// A C expression of the same value with the fewest parentheses. Shared subtrees are printed where
// they occur; `print_c_statements` names them instead.
std::string print_c(const Expr& e, Dialect dialect, const Names& names = {});

// Statements `const float t0 = ...;` (each line indented by `indent` spaces) for every shared
// subtree that is not a leaf, as an input of one number is too, then the C expression of the whole
// in `value`.
struct Statements {
  std::string text;
  std::string value;
};
Statements print_c_statements(const Expr& e, Dialect dialect, const Names& names, int indent);

// The functions that the Device dialect may call beyond the vendor's own: "cosine", "exp2_approx",
// ... Sorted; each calls only those that come before it.
std::vector<std::string_view> device_function_names();
// The definition of one, as CUDA or HIP source that stands by itself: a `__device__
// __forceinline__` function. Empty for any other name.
enum class Vendor : uint8_t { Nvidia, Amd };
std::string device_function(std::string_view name, Vendor vendor = Vendor::Nvidia,
                            Accuracy accuracy = Accuracy::Full);

// The C99 functions and includes that the HostC dialect calls; Ints are `long long`, Bools `int`.
std::string host_functions();

}  // namespace attngen::expr
