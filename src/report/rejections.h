// Rejected schedules, grouped by reason.
#pragma once

#include <string>
#include <vector>

#include "schedule/search.h"

namespace attngen::report {

// Schedules whose reasons differ in their numbers alone, in the order of the search. The nearest
// miss, the one that needs least, stands for them. Points into what was grouped.
struct RejectionGroup {
  std::string kind;  // the reason without its numbers
  std::vector<const schedule::Rejection*> members;
  const schedule::Rejection* nearest = nullptr;
};
std::vector<RejectionGroup> grouped(const std::vector<schedule::Rejection>& rejected);

// "12 schedules".
std::string count_of(const RejectionGroup& group);

}  // namespace attngen::report
