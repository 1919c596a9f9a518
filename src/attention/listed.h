// Lists of tokens as a mask.
#pragma once

#include <string_view>

#include "attention/tiles.h"
#include "spec/spec.h"

namespace attngen::attention {

// What the mask reads of a pair: whether its key stands in the query's list. No input: a kernel
// before the main one asks the lists.
inline constexpr std::string_view kListed = "$listed";

// Whether lists may be part of the mask: keys are distinct, since of one that stands twice no mask
// could say so, and sequences are not packed, whose pairs have no table.
bool may_be_mask(const spec::Spec& spec);

// The same attention, whose lists are part of the mask: a tile has many queries and reads a key
// once for all of them, whichever lists name it. Of a spec whose lists may be.
spec::Spec lists_as_mask(spec::Spec spec);

// Whether it is one of such a spec.
bool asks_lists(const BlockTest& test);

}  // namespace attngen::attention
