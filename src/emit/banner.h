// The first comment of emitted files: what they are, from what, and why so.
#pragma once

#include <string>

#include "emit/prediction.h"

namespace attngen::emit {

// Of the header, which is the same for every target: besides, what is computed.
std::string header_banner(const spec::Spec& spec);
// Of a source: besides, the schedule and why, and how to compile it.
std::string source_banner(const spec::Spec& spec, const PredictedChoice& predicted);

// The version of this generator: "0.1.0".
const char* version();

// "71.7", "1920": of numbers no more, so that hosts whose arithmetic differs in the last bit agree.
std::string three_digits(double value);
// "1.23 ms", "45.6 us".
std::string duration(double seconds);

}  // namespace attngen::emit
