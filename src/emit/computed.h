// What a kernel computes, in the spec's own words: for the header and the manifest, whose readers
// may not have the spec.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/spec.h"

namespace attngen::emit {

// {"mask", "kv_idx <= q_pos"}, ... in the order of docs/spec.md. The text of a normaliser in the
// long form has a line for each value.
std::vector<std::pair<std::string, std::string>> computed(const spec::Spec& spec);

// "m + log(l)", and of plain softmax, whose rows the spec does not name, "log(rowsum(exp(score)))";
// "" of a spec without a text.
std::string definition_of_save(const spec::Spec& spec, std::string_view name);

// A text of more than `most` bytes cut at a space, if it has one, with "..." at its end.
std::string cut_at_space(std::string_view text, size_t most);

}  // namespace attngen::emit
