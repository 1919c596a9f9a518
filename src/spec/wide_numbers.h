// Whole numbers that leave their 32 bits: what they are then is undefined (docs/spec.md).
#pragma once

#include <optional>
#include <string_view>

#include "expr/parse.h"
#include "spec/spec.h"

namespace attngen::spec {

// The first whole number in `e`, which was parsed of the text, that leaves 32 bits in a call of
// 131,072 tokens or fewer: square(q_pos - kv_idx) does with 46,342. A warning.
std::optional<expr::Error> number_beyond_32_bits(const expr::Expr& e, const Spec& spec,
                                                 std::string_view text);

}  // namespace attngen::spec
