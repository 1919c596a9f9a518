// What a user wrote, as messages quote it.
#pragma once

#include <string>
#include <string_view>

#include "expr/expr.h"

namespace attngen::spec {

// The text that `e` was parsed of, a part of `text`, in one line.
std::string written(const expr::Expr& e, std::string_view text);

}  // namespace attngen::spec
