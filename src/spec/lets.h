// The names that stand for parts of expressions, for readers who do not have the spec.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "spec/spec.h"

namespace attngen::spec {

// Adds those that an expression reads, and that those of them read which stand for a text.
void add_names(std::string_view text, const Spec& spec, std::set<std::string>& names);

// All of them, a line each: "gap = q_pos - kv_idx".
std::string lets_of(const Spec& spec);

// A text of the spec, and below it those lines whose names it needs.
std::string with_lets(const Spec& spec, const std::string& text);

}  // namespace attngen::spec
