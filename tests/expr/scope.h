// A scope like a mask's or a score's, and short ways to parse in it.
#pragma once

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "expr/parse.h"
#include "expr/print.h"
#include "expr/simplify.h"

namespace attngen::expr::testing {

inline Scope rich_scope() {
  Scope scope;
  for (const char* name : {"score", "x", "y", "m", "old_m", "acc", "l", "scale"}) {
    scope.variables[name] = Type::Float;
  }
  for (const char* name : {"b", "h", "q_idx", "kv_idx", "q_pos", "seq_q", "seq_kv"}) {
    scope.variables[name] = Type::Int;
  }
  scope.constants["inf"] = number(std::numeric_limits<double>::infinity());
  scope.constants["window"] = integer(4096);
  scope.inputs["slopes"] = {Type::Float, {"heads"}};
  scope.inputs["bias"] = {Type::Float, {"heads", "seq_q"}};
  scope.inputs["doc_id"] = {Type::Int, {"seq"}};
  scope.inputs["cap"] = {Type::Float, {}};
  scope.forbidden["weight"] = {"a score comes before its weight", "write it in the weight"};
  scope.reductions = true;
  return scope;
}

inline Expr parsed(std::string_view text) {
  const auto result = parse(text, rich_scope());
  if (const auto* error = std::get_if<Error>(&result)) {
    FAIL((std::string(text) + ": " + error->message));
  }
  return std::get<Expr>(result);
}

inline std::string simplified(std::string_view text) { return print(simplify(parsed(text))); }

}  // namespace attngen::expr::testing
