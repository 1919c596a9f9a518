// Where a main-loop step's clocks go, drawn.
#pragma once

#include <string>

#include "schedule/search.h"

namespace attngen::report {

// An HTML figure: for each pipe, and for the step itself, a bar of the first and one of the
// runner-up (null if there is none). The runner-up's clocks are scaled to as many pairs as the
// first's step has, so that the two compare.
std::string main_loop(const schedule::Candidate& first, const schedule::Candidate* next);

}  // namespace attngen::report
