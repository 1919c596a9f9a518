// A mask of a call whose inputs are partly known: as a point of the workload gives them.
#pragma once

#include "attention/tiles.h"
#include "spec/spec.h"

namespace attngen::attention {

// With the number in the place of each element of an input that has one, and ids in order by their
// places.
KeyRange given(const KeyRange& range, const spec::Values& values);
BlockTest given(const BlockTest& test, const spec::Values& values);

}  // namespace attngen::attention
