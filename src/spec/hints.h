// What to write in the place of words that specs have not, but that come to mind.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "spec/document.h"
#include "spec/form.h"

namespace attngen::spec {

// Of an entry of the object at a pointer: "write mask: kv_idx <= q_pos" for `causal` in the whole
// text, "write score: 50 * tanh(score / 50)" for `softcap: 50`; "" if there is no hint.
std::string hint_on_key(const Node& entry, std::string_view pointer);

// Of a line, or what was read as a key: "write layout: bshd" for `layout bshd` and `layout:bshd`, a
// key and its value without ': ' or with a space that is none; "" of all else.
std::string hint_on_colon(std::string_view line);

// Of names in the expressions of pattern parallel; of one that is called or has indices it ends in
// "(" or "[".
const std::map<std::string, std::string, std::less<>>& hints_on_names();

// Of a map of the type that lacks required entries: "add kv: 16" for {q: 16}; "" if a value is hard
// to guess, or another entry may be the one that is missing.
std::string hint_on_missing(const Node& map, const Type& type);

// Of a value at a pointer that should have been of the type; `root` has the constants.
std::string hint_on_value(const Node& value, std::string_view pointer, const Type& type,
                          const Node& root);

}  // namespace attngen::spec
