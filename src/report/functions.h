// What the user's functions cost, for --explain.
#pragma once

#include <string>

#include "spec/spec.h"

namespace attngen::report {

// A line for each function of the spec that costs anything: "the score adds 1 tanh to a pair: 1
// special function, 2 multiply-adds". These are the counts that enter a step's time. Empty for
// plain softmax.
std::string functions_text(const spec::Spec& spec);

}  // namespace attngen::report
