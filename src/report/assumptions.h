// What a prediction takes for granted of the data of a call.
#pragma once

#include <string>
#include <vector>

#include "spec/spec.h"
#include "target/target.h"

namespace attngen::report {

// A sentence each, without a stop: "predictions assume that block_counts keep every block". What
// data decide is not known before the call: the cost model takes lengths to be half of all keys, a
// share of the blocks to be kept, ids in order to be all the same (schedule/rows.cpp,
// tested_blocks.cpp); where no kernel passes over blocks by it, that is said instead.
// Empty where data decide no key.
std::vector<std::string> assumptions(const spec::Spec& spec, target::Family family);

}  // namespace attngen::report
