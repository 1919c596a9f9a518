// What the user's functions cost, for --explain.
#pragma once

#include <string>

#include "spec/spec.h"

namespace attngen::report {

// A line for each function of the spec that costs anything: "the score adds 1 tanh to a pair: 2
// special functions, 4 multiply-adds". These are the counts that enter a step's time. Empty for
// plain softmax.
std::string functions_text(const spec::Spec& spec);

}  // namespace attngen::report
