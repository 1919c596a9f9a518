// Why the first of a ranking won.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/search.h"
#include "spec/spec.h"

namespace attngen::report {

// Indices of the fastest candidate of each shape, fastest first. A shape is all of a schedule but
// its stages, ping-pong, grid and order.
std::vector<size_t> best_of_shapes(const std::vector<schedule::Candidate>& ranked);

// The fastest candidate of another shape than the first's.
std::optional<size_t> runner_up(const std::vector<schedule::Candidate>& ranked);

// One paragraph without line breaks: the first, which pipe bounds it, where a core's time goes,
// what the runner-up lacks, what the first needs, how the other way with lists would do. At least
// one candidate is ranked.
std::string why_first(const schedule::Ranking& ranking, const spec::Spec& spec);

}  // namespace attngen::report
