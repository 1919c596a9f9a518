// What a point of the workload takes inputs to be, for predictions.
#pragma once

#include <string>

#include "spec/report.h"

namespace attngen::spec {

// Of a checked `values:` at the pointer, where the spec's inputs have been read. One with an error
// is left out.
Values read_point_values(const Node& values, const std::string& pointer, const Spec& spec,
                         Report& report);

// Warns of values that no prediction needs: of inputs that the mask, which has been read, does not.
void warn_of_idle_values(const Node& root, const Spec& spec, Report& report);

}  // namespace attngen::spec
