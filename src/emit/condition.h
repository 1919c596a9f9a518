// The integer expressions of `#if`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace attngen::emit {

// ATTN_ names and their values: integers or C text.
using Values = std::map<std::string, std::string, std::less<>>;

// The condition reads a name that is not ours: it is left for the compiler.
struct Foreign {};
// "ATTN_TYLE_KV has no value"
struct ConditionError {
  std::string message;
};

// Evaluates as the preprocessor does. Inside `defined`, an ATTN_ name may be absent from `values`;
// elsewhere it must be there.
std::variant<int64_t, Foreign, ConditionError> evaluate_condition(std::string_view text,
                                                                  const Values& values);

}  // namespace attngen::emit
