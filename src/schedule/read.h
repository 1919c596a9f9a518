// A schedule's text, JSON, to a Schedule.
#pragma once

#include <optional>

#include "schedule/schedule.h"
#include "text/diagnostics.h"

namespace attngen::schedule {

// Strict: every key but those that are false by default, no other, values that some kernel could
// have. Reports all errors of the text at once; returns a Schedule only if there are none. Any
// bytes are safe, as in spec::read. Whether the schedule fits a kernel and a target is search.h's
// judge.
std::optional<Schedule> read(text::Diagnostics& diagnostics);

}  // namespace attngen::schedule
