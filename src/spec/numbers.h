// Numbers that no kernel can hold.
#pragma once

#include <optional>

#include "expr/parse.h"

namespace attngen::spec {

// The first place in `e` where an i32 is divided by the number 0, or where numbers, folded, come to
// an i32 beyond 32 bits, or to an f32 that is too large or too small.
std::optional<expr::Error> wrong_number(const expr::Expr& e);

}  // namespace attngen::spec
