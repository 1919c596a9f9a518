// The search's result as a page: --report html.
#pragma once

#include <string>

#include "schedule/search.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::report {

// "<name>_<target>.html".
std::string html_name(const spec::Spec& spec, const target::Target& target);

// One page that needs nothing beside it: the winner and why, the roofline, the main loop by pipe,
// all candidates, all rejected schedules. At least one candidate is ranked.
std::string html(const spec::Spec& spec, const target::Target& target,
                 const schedule::Ranking& ranking);

}  // namespace attngen::report
