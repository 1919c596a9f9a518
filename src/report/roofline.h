// The roofline: what the target allows, and where the candidates are.
#pragma once

#include <string>
#include <vector>

#include "schedule/search.h"
#include "target/target.h"

namespace attngen::report {

// An HTML figure: flop per byte of memory traffic across, predicted TFLOP/s up, both logarithmic.
// The first and the runner-up are marked twice: against their memory and their L2 traffic.
std::string roofline(const target::Target& target, const std::vector<schedule::Candidate>& ranked);

}  // namespace attngen::report
