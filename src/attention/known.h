// What is known of expressions.
#pragma once

#include <map>
#include <utility>

#include "expr/expr.h"

namespace attngen::attention {

// Of expressions, each asked for once: shared ones would take a time exponential in their depth.
template <typename T>
class Known {
 public:
  const T* find(const expr::Expr& e) const {
    const auto found = values_.find(e.identity());
    return found == values_.end() ? nullptr : &found->second.second;
  }
  const T& keep(const expr::Expr& e, T value) {
    return values_.emplace(e.identity(), std::pair(e, std::move(value))).first->second.second;
  }

 private:
  std::map<const void*, std::pair<expr::Expr, T>> values_;  // the Expr keeps its identity taken
};

}  // namespace attngen::attention
