// What a prediction takes for granted of the data of a call.
#pragma once

#include <string>
#include <vector>

#include "spec/spec.h"
#include "target/target.h"

namespace attngen::report {

// A sentence each, without a stop: "predictions assume that block_counts keep every block". What
// data decide is not known before the call, and the cost model takes it to leave out nothing
// (schedule/rows.cpp, kernel.cpp); where no kernel passes over blocks by it, that is said instead.
// Empty where data decide no key.
std::vector<std::string> assumptions(const spec::Spec& spec, target::Family family);

}  // namespace attngen::report
