// What a slower schedule lacks.
#pragma once

#include <string>

#include "schedule/search.h"

namespace attngen::report {

// One sentence: by how much the runner-up is slower than the first, and where the model sees the
// largest part of that. "The runner-up, 128x112, is 4.0 % slower: the tensor cores are idle for
// 25.1 % of its steps, of the first's for 17.0 %." A Cost's core has the first of `points` workload
// points; where that one does not explain the difference, no reason is given.
std::string what_it_lacks(const schedule::Candidate& next, const schedule::Candidate& first,
                          size_t points);

}  // namespace attngen::report
