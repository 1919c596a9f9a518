// The candidates and the rejected schedules, as HTML.
#pragma once

#include <string>
#include <vector>

#include "schedule/search.h"

namespace attngen::report {

// A table of all candidates in the order of their rank; page.js makes it sort.
std::string candidates_table(const std::vector<schedule::Candidate>& ranked);

// A list for each reason, folded, its nearest miss in sight.
std::string rejected_lists(const std::vector<schedule::Rejection>& rejected);

}  // namespace attngen::report
