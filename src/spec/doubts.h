// Expressions that have a meaning, but hardly the one that was meant: each is a warning.
#pragma once

#include <optional>
#include <string_view>

#include "expr/parse.h"

namespace attngen::spec {

// The first clamp in `e`, which was parsed of the text, whose low end is a greater number than its
// high end: it gives that for every value.
std::optional<expr::Error> exchanged_clamp(const expr::Expr& e, std::string_view text);

// A score that does not read the product of query and key.
std::optional<expr::Error> score_of_nothing(const expr::Expr& score, std::string_view text);

// The first choice in a score, or in a term of it, that takes pairs away as a mask would: -1e9.
std::optional<expr::Error> masking_in_score(const expr::Expr& score, std::string_view text);

// The first place in a score, or in a term of it, that divides it by the root of the keys' width,
// by which it is divided already where the scale is the default.
std::optional<expr::Error> scaled_twice(const expr::Expr& score, int width, std::string_view text);

// The first comparison in a mask of kv_idx, or a sum of it, with a float that all rows share: were
// it an i32, keys would have an end, and blocks beyond it would not be visited.
std::optional<expr::Error> keys_below_float(const expr::Expr& mask, std::string_view text);

// The first power of what the keys share by how far a key is: an exponential costs less, and keys
// far behind can be summed up by it (attention/far_form.h).
std::optional<expr::Error> power_of_distance(const expr::Expr& e, std::string_view text);

// A weight of exp(score), perhaps over a row's value, though scores may be so large that it leaves
// `largest`, the type in which weights meet the values: softmax without its maximum.
std::optional<expr::Error> weight_without_maximum(const expr::Expr& weight, const expr::Expr& score,
                                                  double largest);

}  // namespace attngen::spec
