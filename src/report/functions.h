// What the user's functions cost, for --explain.
#pragma once

#include <string>

#include "schedule/schedule.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::report {

// A line for each function of the spec that costs anything: "the score adds 1 tanh to a pair: 1
// special function, 1 multiply-add", and what a kernel computes once for a row. The counts are
// those that enter a step's time (schedule::Kernel), of the functions as a kernel of the family has
// them under the schedule (attention/pair_form.h). Empty for plain softmax.
std::string functions_text(const spec::Spec& spec, target::Family family = target::Family::Hopper,
                           const schedule::Schedule& schedule = {},
                           const schedule::Forms& forms = {
                               .near = true, .strips = attention::Shared::All, .bias = true});

}  // namespace attngen::report
